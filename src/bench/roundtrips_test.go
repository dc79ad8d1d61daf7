package main

import (
	"reflect"
	"testing"
	"time"
)

func TestPercentilesAreUpperBoundsOfBins(t *testing.T) {
	r := record(5*time.Microsecond, 15*time.Microsecond, 25*time.Microsecond, time.Second)
	for percent, expected := range map[float64]float64{25: 0.01, 50: 0.02, 75: 0.03, 76: 1000.01} {
		if ms := r.percentileMs(percent); ms != expected {
			t.Errorf("p%v is %v, expected %v", percent, ms, expected)
		}
	}
	if r.MaxUs != 1e6 {
		t.Errorf("max %v", r.MaxUs)
	}
}

func TestARequestBeginsAnew(t *testing.T) {
	var recorder roundTripRecorder
	recorder.add(time.Millisecond)
	recorder.take()
	if taken := recorder.take(); !reflect.DeepEqual(taken, roundTrips{}) {
		t.Errorf("%+v", taken)
	}
}

func TestMergedHistogramsHaveAllMessages(t *testing.T) {
	merged := merge([]*roundTrips{
		record(5*time.Microsecond, 25*time.Microsecond), record(5*time.Microsecond, 15*time.Microsecond)})
	expected := &roundTrips{Messages: 4, MaxUs: 25, Bins: [][2]int64{{0, 2}, {1, 1}, {2, 1}}}
	if !reflect.DeepEqual(merged, expected) {
		t.Errorf("%+v", merged)
	}
}

func record(all ...time.Duration) *roundTrips {
	var recorder roundTripRecorder
	for _, d := range all {
		recorder.add(d)
	}
	taken := recorder.take().(roundTrips)
	return &taken
}
