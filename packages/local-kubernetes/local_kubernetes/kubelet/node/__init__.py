"""The node: its memory, images, services and Events."""
