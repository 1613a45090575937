"""The driver's pod: its metadata, containers, volumes and templates."""
