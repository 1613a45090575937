"""Objects, their owners and their watch history."""
