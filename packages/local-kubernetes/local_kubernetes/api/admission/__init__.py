"""What a new object must be before it is stored."""
