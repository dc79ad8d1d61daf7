// Package cli runs programs that consist of commands.
package cli

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Run declares the flags of a command, parses its arguments with [Parse], and runs to its end.
type Run func(flags *flag.FlagSet, args []string) error

// A Command is one of those that [Main] chooses from.
type Command struct {
	name    string
	summary string
	run     Run
}

// NewCommand returns a command. The summary is a line of the program's usage.
func NewCommand(name, summary string, run Run) Command {
	return Command{name, summary, run}
}

// Main runs the command that the first argument of the process names, and exits with its status:
// 0 for success, 1 for a failure, 2 for invalid arguments.
func Main(program string, commands ...Command) {
	if len(os.Args) < 2 {
		usage(os.Stderr, program, commands)
		os.Exit(2)
	}
	name := os.Args[1]
	if name == "help" || name == "-h" || name == "-help" || name == "--help" {
		usage(os.Stdout, program, commands)
		return
	}
	for _, c := range commands {
		if c.name == name {
			os.Exit(c.main(program, os.Args[2:]))
		}
	}
	fmt.Fprintf(os.Stderr, "%s: unknown command %q\n\n", program, name)
	usage(os.Stderr, program, commands)
	os.Exit(2)
}

func usage(w io.Writer, program string, commands []Command) {
	fmt.Fprintf(w, "usage: %s COMMAND [flags]\n\n", program)
	for _, c := range commands {
		fmt.Fprintf(w, "  %-18s %s\n", c.name, c.summary)
	}
	fmt.Fprintf(w, "\n\"%s COMMAND --help\" lists the flags of a command.\n", program)
}

// main returns the exit status.
func (c Command) main(program string, args []string) int {
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), "usage: %s %s [flags]\n%s\n\n", program, c.name, c.summary)
		flags.PrintDefaults()
	}
	err := c.run(flags, args)
	var invalid usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &invalid):
		if !invalid.reported {
			fmt.Fprintf(os.Stderr, "%s %s: %v\n", program, c.name, err)
		}
		return 2
	default:
		fmt.Fprintf(os.Stderr, "%s %s: %v\n", program, c.name, err)
		return 1
	}
}

// A usageError is the caller's. Package flag has already reported those that it found itself.
type usageError struct {
	error
	reported bool
}

// UsageErrorf returns an error that ends the program with status 2.
func UsageErrorf(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...), false}
}

// Parse parses flags and refuses further arguments.
func Parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return usageError{err, true}
	}
	if flags.NArg() > 0 {
		return UsageErrorf("unexpected argument %q", flags.Arg(0))
	}
	return nil
}

// PrintJSON prints one line to standard output.
func PrintJSON(v any) error {
	return json.NewEncoder(os.Stdout).Encode(v)
}

// ExitOnEOF prints what report returns, and ends the process, when standard input ends: the process
// cannot outlive its parent.
func ExitOnEOF(report func() any) {
	go func() {
		io.Copy(io.Discard, os.Stdin)
		exit(report)
	}()
}

// ExitOnTermination prints what report returns, and ends the process, when it receives SIGTERM.
func ExitOnTermination(report func() any) {
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	go func() {
		<-terminated
		exit(report)
	}()
}

func exit(report func() any) {
	PrintJSON(report())
	os.Exit(0)
}
