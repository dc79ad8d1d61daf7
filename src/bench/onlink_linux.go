package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/kcp4j/kcp4j/bench/link"
	"github.com/kcp4j/kcp4j/interop/cli"
	"golang.org/x/sys/unix"
)

// onLink runs a command beside an emulated link. The command starts processes at the ends of the
// link by the words that two variables of its environment hold.
func onLink(flags *flag.FlagSet, args []string) error {
	delay := flags.Duration("delay", 20*time.Millisecond, "`time` each way")
	loss := flags.Float64("loss", 0, "`percent` of the packets that are lost each way")
	shell := flags.String("command", "", "`command` for sh")
	if err := cli.Parse(flags, args); err != nil {
		return err
	}
	up := link.Config{Delay: *delay, Loss: *loss / 100, Seed: 1}
	down := up
	down.Seed = 2
	l, err := link.NewTUN(up, down)
	if err != nil {
		return err
	}
	defer l.Close()
	client, err1 := enter(l.OnClient)
	server, err2 := enter(l.OnServer)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	command := exec.Command("sh", "-c", *shell)
	command.Env = append(os.Environ(), "LINK_CLIENT="+client, "LINK_SERVER="+server,
		"LINK_SERVER_ADDRESS="+l.ServerAddress().String())
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	return command.Run()
}

// enter returns the words that run a command at one end of a link.
func enter(on func(func() error) error) (words string, err error) {
	err = on(func() error {
		words = fmt.Sprintf("nsenter --net=/proc/%d/task/%d/ns/net", os.Getpid(), unix.Gettid())
		return nil
	})
	return words, err
}
