//go:build unix

package proxytest_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/sixlink/sixlink/proxy/proxytest"
)

func TestLatency(t *testing.T) {
	waited := 0
	r := proxytest.Latency{R: strings.NewReader("abcde"), Wait: func(n int) { waited += n }}
	if b, err := io.ReadAll(r); string(b) != "abcde" || err != nil || waited != 5 {
		t.Errorf("%q, %v, waited for %d bytes", b, err, waited)
	}
}

func TestLimited(t *testing.T) {
	src := strings.NewReader("abcde")
	b, err := io.ReadAll(&proxytest.Limited{R: src, N: 3})
	if string(b) != "abc" || err != nil || src.Len() != 2 {
		t.Errorf("%q, %v, %d bytes left", b, err, src.Len())
	}
	b, err = io.ReadAll(&proxytest.Limited{R: src, N: 1, Then: func() error { return syscall.ECONNRESET }})
	if string(b) != "d" || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%q, %v", b, err)
	}
	b, err = io.ReadAll(&proxytest.Limited{R: src, N: 9, Then: func() error { return syscall.EIO }})
	if string(b) != "e" || err != nil {
		t.Errorf("a source that ends first: %q, %v", b, err)
	}
}

func TestReset(t *testing.T) {
	a, b := proxytest.Socketpair(t)
	a.WriteString("never read")
	if err := proxytest.Reset(b); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) && err != io.EOF {
		t.Errorf("the peer reads: %v", err)
	}
	if _, err := a.WriteString("x"); err == nil {
		t.Error("the peer can write")
	}
}

func TestSlowClose(t *testing.T) {
	a, b := proxytest.Socketpair(t)
	err := proxytest.SlowClose(b, func() {
		if n, err := a.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("the peer reads %d, %v before the close", n, err)
		}
		if _, err := a.WriteString("still taken"); err != nil {
			t.Error(err)
		}
		got := make([]byte, 11)
		if _, err := io.ReadFull(b, got); err != nil || !bytes.Equal(got, []byte("still taken")) {
			t.Errorf("%q, %v", got, err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.WriteString("x"); err == nil {
		t.Error("the peer can write after the close")
	}
}
