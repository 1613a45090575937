"""What several verbs show of applications: columns, descriptions, pods, Events and ends."""
