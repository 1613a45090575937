"""Reports of the controller: Events, logs and failures."""
