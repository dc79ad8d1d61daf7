package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// fetchName is the file that is fetched.
const fetchName = "file"

func (c *tunnelComparison) checkHTTPServer() (err error) {
	c.httpServer, err = chooseFileServer(c.httpServer)
	return err
}

// A fetchResult is that of one transfer.
type fetchResult struct {
	variant *tunnelVariant
	loss    float64
	elapsed time.Duration
	err     error
}

// fetchAll fetches a file through each tunnel, prints a table, and returns the errors.
func (c *tunnelComparison) fetchAll(interrupt context.Context) error {
	directory, err := os.MkdirTemp("", "kcp4j-fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	sum, err := writeText(filepath.Join(directory, fetchName), c.fetchBytes)
	if err != nil {
		return err
	}
	server, err := newFileServer(c.httpServer, directory)
	if err != nil {
		return err
	}
	defer server.close()

	var results []fetchResult
	for _, loss := range c.losses {
		for _, v := range c.variants {
			fmt.Fprintf(os.Stderr, "%s, %v %% loss\n", fetchTitle(v), loss)
			elapsed, err := c.fetch(interrupt, v, server.address(), loss, sum)
			results = append(results, fetchResult{v, loss, elapsed, err})
			if interrupt.Err() != nil {
				return interrupted(interrupt)
			}
		}
	}
	return c.reportFetches(results)
}

func fetchTitle(v *tunnelVariant) string {
	return v.compression + ": " + v.ends()
}

// writeText writes a file, and returns its SHA-256.
func writeText(name string, size int64) ([]byte, error) {
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	_, err = io.CopyBuffer(io.MultiWriter(file, sum),
		io.LimitReader(blocks{newTunnelText(1)}, size), make([]byte, chunkBytes))
	return sum.Sum(nil), errors.Join(err, file.Close())
}

// blocks fills the buffers of its reader.
type blocks struct{ io.Reader }

func (b blocks) Read(p []byte) (int, error) {
	return io.ReadFull(b.Reader, p)
}

// fetch fetches the file once, and compares its SHA-256.
func (c *tunnelComparison) fetch(
	interrupt context.Context, v *tunnelVariant, target string, loss float64, sum []byte,
) (time.Duration, error) {
	tunnel, err := c.openTunnel(v, target, loss)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	got, err := curl(interrupt, "http://"+tunnel.address+"/"+fetchName)
	elapsed := time.Since(start)
	tunnel.close()
	switch {
	case err != nil:
		err = fmt.Errorf("after %d bytes: %w\n%s", got.bytes, err, tunnel.messages())
	case got.bytes != c.fetchBytes:
		err = fmt.Errorf("%d of %d bytes", got.bytes, c.fetchBytes)
	case !bytes.Equal(got.Sum(nil), sum):
		err = errors.New("the SHA-256 differs")
	}
	return elapsed, err
}

// A digest also counts bytes.
type digest struct {
	hash.Hash
	bytes int64
}

func (d *digest) Write(p []byte) (int, error) {
	d.bytes += int64(len(p))
	return d.Hash.Write(p)
}

func curl(interrupt context.Context, url string) (*digest, error) {
	const patience = "900" // seconds
	got := &digest{Hash: sha256.New()}
	command := exec.CommandContext(interrupt, "curl", "--fail", "--silent", "--show-error",
		"--noproxy", "*", "--max-time", patience, url)
	var messages bytes.Buffer
	command.Stdout, command.Stderr = got, &messages
	if err := command.Run(); err != nil {
		return got, fmt.Errorf("curl: %w: %s", err, strings.TrimSpace(messages.String()))
	}
	return got, nil
}

// reportFetches prints Markdown.
func (c *tunnelComparison) reportFetches(results []fetchResult) error {
	printMachine(machine(), strings.TrimSpace(c.commit+" "+time.Now().Format(time.DateOnly)),
		c.versions())
	fmt.Printf("%s; %d bytes from %s by curl; delay %v each way.\n\n",
		c.optionList, c.fetchBytes, c.httpServer, c.delay)
	fmt.Println("| client to server | loss, % | seconds | MB/s | SHA-256 |")
	fmt.Println("|---|---|---|---|---|")
	var errs []error
	for _, r := range results {
		outcome, seconds := "as sent", r.elapsed.Seconds()
		if r.err != nil {
			outcome = "failed"
			errs = append(errs, fmt.Errorf("%s, %v %% loss: %w", fetchTitle(r.variant), r.loss, r.err))
		}
		fmt.Printf("| %s | %v | %s | %s | %s |\n", fetchTitle(r.variant), r.loss,
			threeDigits(seconds), threeDigits(float64(c.fetchBytes)/1e6/seconds), outcome)
	}
	return errors.Join(errs...)
}
