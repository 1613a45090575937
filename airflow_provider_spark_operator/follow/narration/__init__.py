"""What a client reports while an application runs."""
