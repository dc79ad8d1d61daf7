package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/kcp4j/kcp4j/bench/link"
	"golang.org/x/sys/unix"
)

// A recoverySession is a client and a server, and the link between them, during one run.
type recoverySession struct {
	comparison *recoveryComparison
	link       *link.Link
	path       link.Config
	pair       *processPair
	run        *recoveryRun
}

// pollPeriod is how often the processes are asked whether something has happened.
const pollPeriod = 100 * time.Millisecond

// measure runs a case over a new link, and sets the figures of the run.
func (c *recoveryComparison) measure(
	interrupt context.Context, r *recoveryCase, run *recoveryRun,
) error {
	up, down := r.path, r.path
	up.Seed, down.Seed = uint64(2*run.Seed), uint64(2*run.Seed+1)
	l, err := c.open(up, down)
	if err != nil {
		return errHarness{err}
	}
	defer l.Close()
	pair, err := c.connect(r.client, r.server, l)
	if err != nil {
		return err
	}
	defer pair.end()

	begin, before := time.Now(), l.Snapshot()
	cpuBefore, err := c.otherCPU([]*processPair{pair})
	if err != nil {
		return err
	}
	s := &recoverySession{comparison: c, link: l, path: r.path, pair: pair, run: run}
	if run.Figures, err = r.measure(interrupt, s); err != nil {
		return err
	}
	cpuAfter, err := c.otherCPU([]*processPair{pair})
	if err != nil {
		return err
	}
	counted := l.Snapshot().Since(before)
	run.Up, run.Down, run.ExcessP99 = counted.Up, counted.Down, counted.Excess(99)
	run.OtherCPU = 100 * (cpuAfter - cpuBefore).Seconds() / time.Since(begin).Seconds()
	tolerated := tolerance{c.maxExcess, c.maxOtherCPU}
	run.Refusal = tolerated.refuse(run.ExcessP99, run.OtherCPU, run.Up.Failed+run.Down.Failed)
	return nil
}

// logOf returns the log of a process.
func logOf(p *measuredProcess) (log deliveryLog, err error) {
	return log, p.request(&log)
}

// poll calls the function until it returns true, and returns false when the limit is reached.
func poll(interrupt context.Context, limit time.Time, f func() (bool, error)) (bool, error) {
	for {
		if done, err := f(); done || err != nil {
			return done, err
		}
		if time.Now().After(limit) {
			return false, nil
		}
		if err := wait(interrupt, pollPeriod); err != nil {
			return false, err
		}
	}
}

// An interruption makes the session pause for some time, and returns when that has ended.
type interruption func(
	interrupt context.Context, s *recoverySession, length time.Duration) (time.Time, error)

// outageOf loses everything that enters a direction of the link.
func outageOf(d link.Direction) interruption {
	return func(
		interrupt context.Context, s *recoverySession, length time.Duration,
	) (time.Time, error) {
		start := time.Now()
		end := start.Add(length)
		s.link.SetOutage(d, start, end)
		return end, wait(interrupt, time.Until(end))
	}
}

// stopOfServer stops its process, which goes on afterwards even if the run is interrupted.
func stopOfServer(
	interrupt context.Context, s *recoverySession, length time.Duration,
) (time.Time, error) {
	server := s.pair.server.cmd.Process
	if err := server.Signal(unix.SIGSTOP); err != nil {
		return time.Time{}, err
	}
	waited := wait(interrupt, length)
	err := server.Signal(unix.SIGCONT)
	if err == nil {
		err = waited
	}
	return time.Now(), err
}

// A receiver is the side at which the first data after an interruption is awaited.
type receiver int

const (
	atClient receiver = iota // echoes
	atServer                 // bulk data
)

// checkTime is how long data goes on after it has begun to arrive again, to be checked.
const checkTime = 2 * time.Second

// startLimit is how long a session may take to begin.
const startLimit = 20 * time.Second

// measureFirstData returns the time from the end of an interruption to the first data, in
// milliseconds. The instant at which the interruption begins depends on the seed.
func measureFirstData(
	column string, length time.Duration, pause interruption, at receiver,
) func(context.Context, *recoverySession) ([]recoveryFigure, error) {
	return func(interrupt context.Context, s *recoverySession) ([]recoveryFigure, error) {
		if err := s.awaitStart(interrupt, at); err != nil {
			return nil, err
		}
		if err := wait(interrupt, s.comparison.warmUp+phase(s.run.Seed)); err != nil {
			return nil, err
		}
		end, err := pause(interrupt, s, length)
		if err != nil {
			return nil, err
		}
		figure := recoveryFigure{Column: column}
		isOver, err := poll(interrupt, end.Add(giveUp), func() (bool, error) {
			return s.hasRecovered(end, at, &figure)
		})
		if err == nil {
			err = wait(interrupt, checkTime)
		}
		if err != nil {
			return nil, err
		}
		if !isOver {
			figure.Note = fmt.Sprintf("nothing in %v", giveUp)
		}
		err = s.checkLogs(&figure, 0)
		return []recoveryFigure{figure}, err
	}
}

// phase is a time of less than a second.
func phase(seed int) time.Duration {
	return time.Duration(rand.New(rand.NewPCG(uint64(seed), 3)).Int64N(int64(time.Second)))
}

func (s *recoverySession) awaitStart(interrupt context.Context, at receiver) error {
	started, err := poll(interrupt, time.Now().Add(startLimit), func() (bool, error) {
		log, err := logOf(s.side(at))
		return len(log.Sessions) > 0 && log.Sessions[0].Bytes > 0, err
	})
	if err == nil && !started {
		err = fmt.Errorf("no data in %v", startLimit)
	}
	return err
}

func (s *recoverySession) side(at receiver) *measuredProcess {
	if at == atServer {
		return s.pair.server
	}
	return s.pair.client
}

// hasRecovered sets the figure if data has arrived, and returns true also if the session has ended.
func (s *recoverySession) hasRecovered(
	end time.Time, at receiver, figure *recoveryFigure,
) (bool, error) {
	log, err := logOf(s.side(at))
	if err != nil {
		return false, err
	}
	for _, session := range log.Sessions {
		if first, ok := session.firstSince(end); ok {
			ms := milliseconds(first)
			figure.Value = &ms
			return true, nil
		}
	}
	client, err := logOf(s.pair.client)
	return client.Sessions[0].Ended != "", err
}

// checkLogs notes sessions that have ended, and data that is not what was sent. The sessions of a
// warm-up, which end, are left out.
func (s *recoverySession) checkLogs(figure *recoveryFigure, warmUps int) error {
	var notes []string
	for _, side := range []struct {
		name    string
		process *measuredProcess
	}{{"client", s.pair.client}, {"server", s.pair.server}} {
		log, err := logOf(side.process)
		if err != nil {
			return err
		}
		log.Sessions = slices.Delete(log.Sessions, 0, min(warmUps, len(log.Sessions)))
		note, remarks := log.verdict()
		if note != "" {
			notes = append(notes, note+" ("+side.name+")")
		}
		for _, remark := range remarks {
			s.run.Remarks = append(s.run.Remarks, side.name+": "+remark)
		}
	}
	if len(notes) > 0 {
		figure.Note = strings.Join(notes, ", ")
	}
	return nil
}

// The stops of the server during a stream.
const (
	stops      = 5
	stopTime   = 300 * time.Millisecond
	stopPeriod = time.Second
)

var stopsColumns = []string{"messages/s before", "after", "p99 before, ms", "p99 after, ms"}

// measureStops measures a stream before and after stops of the server.
func measureStops(take func(*measuredProcess) (*roundTrips, error)) func(
	context.Context, *recoverySession) ([]recoveryFigure, error) {
	return func(interrupt context.Context, s *recoverySession) ([]recoveryFigure, error) {
		if err := wait(interrupt, s.comparison.warmUp); err != nil {
			return nil, err
		}
		rateBefore, p99Before, err := s.rate(interrupt, take)
		if err != nil {
			return nil, err
		}
		for i := range stops {
			if i > 0 {
				if err := wait(interrupt, stopPeriod-stopTime); err != nil {
					return nil, err
				}
			}
			if _, err := stopOfServer(interrupt, s, stopTime); err != nil {
				return nil, err
			}
		}
		rateAfter, p99After, err := s.rate(interrupt, take)
		if err != nil {
			return nil, err
		}
		var figures []recoveryFigure
		for i, value := range []float64{rateBefore, rateAfter, p99Before, p99After} {
			figures = append(figures, figureOf(stopsColumns[i], value))
		}
		return figures, nil
	}
}

// rate returns the messages a second of a window, and p99 of their round trips in milliseconds.
func (s *recoverySession) rate(
	interrupt context.Context, take func(*measuredProcess) (*roundTrips, error),
) (perSecond, p99 float64, err error) {
	if _, err := take(s.pair.client); err != nil {
		return 0, 0, err
	}
	begin := time.Now()
	if err := wait(interrupt, s.comparison.window); err != nil {
		return 0, 0, err
	}
	trips, err := take(s.pair.client)
	if err != nil {
		return 0, 0, err
	}
	if trips.Messages == 0 {
		return 0, 0, fmt.Errorf("no message was echoed in %v", s.comparison.window)
	}
	return float64(trips.Messages) / time.Since(begin).Seconds(), trips.percentileMs(99), nil
}

// takeLogged takes the round trips of a log.
func takeLogged(p *measuredProcess) (*roundTrips, error) {
	log, err := logOf(p)
	return &log.RoundTrips, err
}

// takeCalls takes those of a client of gRPC.
func takeCalls(p *measuredProcess) (*roundTrips, error) {
	var trips roundTrips
	return &trips, p.request(&trips)
}

// An upload is a transfer of some bytes.
type upload struct {
	bytes, warmUpBytes     int64
	timeColumn, sentColumn string // sentColumn is "" if the link also carries a warm-up
}

func (u *upload) columns() []string {
	if u.sentColumn == "" {
		return []string{u.timeColumn}
	}
	return []string{u.timeColumn, u.sentColumn}
}

// measure returns the time from the beginning of the client's session until the server has all, in
// seconds, and the bytes that the client has sent, with headers, for each byte of payload.
func (u *upload) measure(
	interrupt context.Context, s *recoverySession,
) ([]recoveryFigure, error) {
	number := 0
	limit := s.comparison.uploadLimit
	if u.warmUpBytes > 0 {
		number, limit = 1, 2*limit
	}
	elapsed := recoveryFigure{Column: u.timeColumn}
	isComplete, err := poll(interrupt, time.Now().Add(limit), func() (bool, error) {
		return s.hasUploaded(number, u.bytes, &elapsed)
	})
	if err != nil {
		return nil, err
	}
	if !isComplete {
		elapsed.Note = fmt.Sprintf("more than %v", s.comparison.uploadLimit)
	}
	if err := s.checkLogs(&elapsed, number); err != nil {
		return nil, err
	}
	if u.sentColumn == "" {
		return []recoveryFigure{elapsed}, nil
	}
	// Copies that were sent before the last acknowledgement are on their way.
	if err := wait(interrupt, 2*s.path.Delay+checkTime); err != nil {
		return nil, err
	}
	sent := float64(s.link.Snapshot().Up.Bytes) / float64(u.bytes)
	return []recoveryFigure{elapsed, figureOf(u.sentColumn, sent)}, nil
}

// hasUploaded sets the figure if the server has all, and returns true also if the session has ended.
func (s *recoverySession) hasUploaded(
	number int, bytes int64, figure *recoveryFigure,
) (bool, error) {
	server, err := logOf(s.pair.server)
	if err != nil {
		return false, err
	}
	client, err := logOf(s.pair.client)
	if err != nil || len(client.Sessions) <= number {
		return false, err
	}
	begun := client.Sessions[number]
	if len(server.Sessions) <= number || server.Sessions[number].Bytes < bytes {
		return begun.Ended != "", nil
	}
	seconds := float64(server.Sessions[number].LastNs-begun.BegunNs) / 1e9
	figure.Value = &seconds
	return true, nil
}

// A bidiReport is what a client of gRPC reports of a stream: io.kcp4j.load.BidiReport.
type bidiReport struct {
	FirstSecond roundTrips `json:"first_second"`
	Later       roundTrips `json:"later"`
	LaterNs     int64      `json:"later_ns"` // since the first second
}

var bidiColumns = []string{"messages/s", "p50, ms", "p99, ms",
	"messages in the first second", "its p50, ms", "its p99, ms"}

// measureBidi measures the first second of a stream, and the time after it.
func measureBidi(interrupt context.Context, s *recoverySession) ([]recoveryFigure, error) {
	window := s.comparison.window
	if err := wait(interrupt, s.comparison.warmUp+window); err != nil {
		return nil, err
	}
	var first, later roundTrips
	var report bidiReport
	isOver, err := poll(interrupt, time.Now().Add(window+startLimit), func() (bool, error) {
		report = bidiReport{}
		err := s.pair.client.request(&report)
		first = *merge([]*roundTrips{&first, &report.FirstSecond})
		later = *merge([]*roundTrips{&later, &report.Later})
		return report.LaterNs >= int64(window), err
	})
	if err != nil {
		return nil, err
	}
	if !isOver || first.Messages == 0 || later.Messages == 0 {
		return nil, fmt.Errorf("%d messages in the first second, %d in %v after it",
			first.Messages, later.Messages, time.Duration(report.LaterNs))
	}
	var figures []recoveryFigure
	for i, value := range []float64{
		float64(later.Messages) / time.Duration(report.LaterNs).Seconds(),
		later.percentileMs(50), later.percentileMs(99),
		float64(first.Messages), first.percentileMs(50), first.percentileMs(99),
	} {
		figures = append(figures, figureOf(bidiColumns[i], value))
	}
	return figures, nil
}

// largeCalls are the times of the first and the second large call of a session.
type largeCalls struct {
	Fresh []float64 `json:"fresh_ms"`
	Used  []float64 `json:"used_ms"` // after small calls
}

var largeColumns = []string{"fresh session, first: ms", "second",
	"after 2,000 small calls, first: ms", "after them, second"}

// largeLimit is how long all calls may take.
const largeLimit = 5 * time.Minute

func measureLarge(interrupt context.Context, s *recoverySession) ([]recoveryFigure, error) {
	var calls largeCalls
	isOver, err := poll(interrupt, time.Now().Add(largeLimit), func() (bool, error) {
		err := s.pair.client.request(&calls)
		return len(calls.Used) > 0, err
	})
	if err != nil {
		return nil, err
	}
	if !isOver {
		return nil, fmt.Errorf("the calls take more than %v", largeLimit)
	}
	var figures []recoveryFigure
	for i, value := range slices.Concat(calls.Fresh, calls.Used) {
		figures = append(figures, figureOf(largeColumns[i], value))
	}
	return figures, nil
}
