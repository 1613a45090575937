"""The settings of the controller."""
