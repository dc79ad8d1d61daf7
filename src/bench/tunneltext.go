package main

import (
	"encoding/binary"
	"math/rand/v2"
	"strconv"
)

// A tunnelText is an endless log of a server, always the same for a seed. Snappy compresses it to
// about half: the words repeat, the numbers do not.
type tunnelText struct {
	random *rand.Rand
	unread []byte
	line   []byte
	timeMs int64
}

func newTunnelText(seed uint64) *tunnelText {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	return &tunnelText{random: rand.New(rand.NewChaCha8(key))}
}

func (t *tunnelText) Read(p []byte) (int, error) {
	if len(t.unread) == 0 {
		t.nextLine()
	}
	n := copy(p, t.unread)
	t.unread = t.unread[n:]
	return n, nil
}

var (
	textMethods = []string{"GET", "GET", "GET", "HEAD", "POST", "PUT", "DELETE"}
	textPaths   = []string{"/", "/index.html", "/api/v2/orders/", "/api/v2/customers/",
		"/static/js/application.js", "/images/thumbnails/", "/search?query=", "/login"}
	textAgents = []string{"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Safari/605.1.15",
		"curl/8.14.1", "Go-http-client/1.1", "okhttp/4.12.0"}
	textStatus = []int{200, 200, 200, 200, 204, 301, 304, 404, 500}
)

func (t *tunnelText) nextLine() {
	number := func(most int) {
		t.line = strconv.AppendInt(t.line, int64(t.random.IntN(most)), 10)
	}
	text := func(s string) { t.line = append(t.line, s...) }
	t.timeMs += int64(t.random.IntN(50))
	t.line = strconv.AppendInt(t.line[:0], 1_764_000_000_000+t.timeMs, 10)
	text(" client=10.")
	number(256)
	text(".")
	number(256)
	text(" session=")
	t.line = strconv.AppendUint(t.line, t.random.Uint64(), 36)
	text(" request=\"")
	text(textMethods[t.random.IntN(len(textMethods))])
	text(" ")
	text(textPaths[t.random.IntN(len(textPaths))])
	number(1_000_000)
	text("\" status=")
	t.line = strconv.AppendInt(t.line, int64(textStatus[t.random.IntN(len(textStatus))]), 10)
	text(" bytes=")
	number(100_000)
	text(" duration_us=")
	number(1_000_000)
	text(" agent=\"")
	text(textAgents[t.random.IntN(len(textAgents))])
	text("\"\n")
	t.unread = t.line
}
