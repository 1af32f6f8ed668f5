// A target needs one source file; all of this one is in its header.
