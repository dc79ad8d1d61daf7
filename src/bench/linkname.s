// Empty: its presence lets codecs.go declare functions without bodies.
