"""What users want to know about an application: a summary for lists, the timeline, the requested resources.

The functions read the resource of any dialect, and optionally its pods and Events. They never raise on a malformed
document, and show an unknown state as it is.
"""
