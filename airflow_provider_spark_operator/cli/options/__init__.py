"""The options of verbs and the values that they take."""
