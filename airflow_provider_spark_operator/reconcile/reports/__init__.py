"""What the controller reports: Events, logs and failures."""
