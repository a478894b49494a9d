"""What the pages show, in people's words: values and sentences, made of what selectors give."""
