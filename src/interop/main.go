// Command interop is kcp-go as a peer for kcp4j: servers and clients for its interoperability
// tests and speed comparisons, and a load tool.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// A command parses its arguments, runs to its end, and says what went wrong.
type command struct {
	name    string
	summary string
	run     func(flags *flag.FlagSet, args []string) error
}

var commands = []command{
	{"echo-server", "send back what arrives (kcp-go sessions, stream)", echoServer},
	{"echo-client", "send pseudo-random bytes and check their echo", echoClient},
	{"oob-client", "send out-of-band packets and check their echo", oobClient},
	{"sink", "count what arrives (one-way throughput, receiver)", sink},
	{"source", "send as fast as possible (one-way throughput, sender)", source},
	{"flood", "run sink and source as two processes on loopback", flood},
	{"message-server", "send back messages (kcp-go's raw KCP, message mode)", messageServer},
	{"message-client", "send messages of many sizes and check their echo", messageClient},
	{"codecs", "measure kcp-go's ciphers and FEC", codecs},
	{"compare-codecs", "the same for kcp4j, beside it, as a table", compareCodecs},
	{"measured", "one side of a transfer, until standard input ends, for compare-load", measured},
	{"compare-load", "whole transfers of kcp-go, kcp4j and others, in turn, as a table", compareLoad},
	{"load", "hold thousands of sessions open over one socket (Linux)", load},
}

func main() {
	if len(os.Args) < 2 {
		usage(os.Stderr)
		os.Exit(2)
	}
	name := os.Args[1]
	if name == "help" || name == "-h" || name == "-help" || name == "--help" {
		usage(os.Stdout)
		return
	}
	for _, c := range commands {
		if c.name == name {
			os.Exit(c.main(os.Args[2:]))
		}
	}
	fmt.Fprintf(os.Stderr, "interop: unknown command %q\n\n", name)
	usage(os.Stderr)
	os.Exit(2)
}

func usage(w io.Writer) {
	fmt.Fprint(w, "usage: interop COMMAND [flags]\n\n")
	for _, c := range commands {
		fmt.Fprintf(w, "  %-15s %s\n", c.name, c.summary)
	}
	fmt.Fprint(w, "\n\"interop COMMAND --help\" lists the flags of a command.\n")
}

// main returns the exit status: 0 if all is right, 1 if not, 2 for arguments that make no sense.
func (c command) main(args []string) int {
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), "usage: interop %s [flags]\n%s\n\n", c.name, c.summary)
		flags.PrintDefaults()
	}
	err := c.run(flags, args)
	var bad usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, &bad):
		if !bad.reported {
			fmt.Fprintf(os.Stderr, "interop %s: %v\n", c.name, err)
		}
		return 2
	default:
		fmt.Fprintf(os.Stderr, "interop %s: %v\n", c.name, err)
		return 1
	}
}

// A usageError is the caller's; package flag has reported those that it found itself.
type usageError struct {
	error
	reported bool
}

func usageErrorf(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...), false}
}

// parse parses flags and refuses what is left over.
func parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return usageError{err, true}
	}
	if flags.NArg() > 0 {
		return usageErrorf("unexpected argument %q", flags.Arg(0))
	}
	return nil
}

// printJSON prints one line to standard output.
func printJSON(v any) error {
	return json.NewEncoder(os.Stdout).Encode(v)
}

// exitOnEOF ends the process when standard input ends, so that it cannot outlive its parent. The
// last line is what kcp-go has counted.
func exitOnEOF() {
	go func() {
		io.Copy(io.Discard, os.Stdin)
		printJSON(countersNow())
		os.Exit(0)
	}()
}
