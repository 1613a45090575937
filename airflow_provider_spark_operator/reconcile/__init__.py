"""The controller: observes through the API, lets the core decide, applies what it decided."""
