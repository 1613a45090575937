"""Tables, rows, sections, JSON and progress on the terminal."""
