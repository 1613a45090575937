"""The admission of new objects: defaults, shapes and rules."""
