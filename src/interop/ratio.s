// Empty: its presence lets ratio.go declare a function without a body.
