"""The program: its verbs, help, completion and version."""
