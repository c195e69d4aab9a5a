package proxytest_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/sixlink/sixlink/proxy/proxytest"
)

// each prints every write on a line of its own.
type each struct{}

func (each) Write(p []byte) (int, error) {
	fmt.Printf("%q\n", p)
	return len(p), nil
}

func ExampleSlice() {
	proxytest.Slice(each{}, []byte("{\"id\":1}\n"), 3, 8)
	// Output:
	// "{\"i"
	// "d\":1}"
	// "\n"
}

func ExampleSlowReader() {
	rounds := 0
	slow := proxytest.SlowReader{R: strings.NewReader("abcde"), Size: 2, Between: func() { rounds++ }}
	io.Copy(each{}, slow)
	fmt.Println(rounds, "rounds")
	// Output:
	// "ab"
	// "cd"
	// "e"
	// 4 rounds
}

func ExampleLatency() {
	late := proxytest.Latency{R: strings.NewReader("a question\n"), Wait: func(n int) { fmt.Println(n, "bytes are on their way") }}
	io.Copy(os.Stdout, late)
	// Output:
	// 11 bytes are on their way
	// a question
}

func ExampleLimited() {
	cut := &proxytest.Limited{R: strings.NewReader(`{"id":1,"method":"ping"}`), N: 8, Then: func() error { return syscall.ECONNRESET }}
	b, err := io.ReadAll(cut)
	fmt.Printf("%s %t\n", b, errors.Is(err, syscall.ECONNRESET))
	// Output: {"id":1, true
}

func ExampleClock() {
	var clock proxytest.Clock
	before, start := clock.Now(), time.Now()
	clock.Jump(time.Hour)
	fmt.Println(clock.Now().Sub(before).Round(time.Minute), time.Since(start).Round(time.Minute))
	// Output: 1h0m0s 0s
}
