"""Readers of the event stream: each turns records into a form that people or machines read, and calls nothing."""
