//go:build unix

package proxytest

import (
	"fmt"
	"maps"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// roleArg is the first argument of a test binary that plays a role.
const roleArg = "proxytest-role"

// Main runs a role and exits if this process was started in one (see [Argv]).
// Otherwise it returns at once. It is the first call of TestMain.
func Main(roles map[string]func(args []string) int) {
	if len(os.Args) < 3 || os.Args[1] != roleArg {
		// The race detector lets every process wait a second at its end.
		os.Setenv("GORACE", strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=0"))
		// A shell's background job has INT ignored, and its children with it. What
		// is caught is at its default in a child.
		for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGHUP} {
			if signal.Ignored(s) {
				signal.Notify(make(chan os.Signal, 1), s)
			}
		}
		return
	}
	all := map[string]func([]string) int{"program": programRole}
	maps.Copy(all, roles)
	run, ok := all[os.Args[2]]
	if !ok {
		fmt.Fprintf(os.Stderr, "proxytest: no role %q in this test binary\n", os.Args[2])
		os.Exit(2)
	}
	os.Exit(run(os.Args[3:]))
}

// Argv is the command that starts this test binary in a role.
func Argv(role string, args ...string) []string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return append([]string{self, roleArg, role}, args...)
}
