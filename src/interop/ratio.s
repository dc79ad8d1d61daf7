// Empty: its presence lets Go files declare functions without bodies.
