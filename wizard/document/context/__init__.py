"""What each part of the document says, as plain values: one module a part, one function a context.

A context is a dictionary of texts and tables for one template. It reads the selection and formats; it measures, sizes
and prices nothing. Texts that a person typed stay as typed here: the template environment escapes whatever it prints.
"""
