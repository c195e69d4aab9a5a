package main

import (
	"context"
	"fmt"
	"strings"

	group "github.com/oklog/run"
	"github.com/spf13/pflag"

	"github.com/sixlink/sixlink/proxy/admin"
	"github.com/sixlink/sixlink/record"
)

// adminFlags are those of the admin endpoint.
type adminFlags struct{ addr string }

func (f *adminFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.addr, "admin", "", "serve /healthz, /readyz and /metrics at this `ADDR`, as in :9464 (of 127.0.0.1, unless a host is named)")
}

func (f *adminFlags) check() error {
	if f.addr == "" {
		return nil
	}
	if _, err := admin.Address(f.addr); err != nil {
		return fmt.Errorf("--admin %w", err)
	}
	return nil
}

// parts are what runs beside the traffic: the admin endpoint, if one was asked
// for and its address is free.
type parts struct {
	server *admin.Server
	tap    *admin.Tap // in front of the recorder; nil without an endpoint
}

// start binds the endpoint. An address that is taken must not end the traffic:
// hosts start one server several times.
func (f *adminFlags) start(rec *record.Recorder, say *sayer) parts {
	if f.addr == "" {
		return parts{}
	}
	c := &admin.Counters{}
	s, err := admin.Listen(admin.Config{Addr: f.addr, Version: versionString(), Counters: c, Recorder: rec, Recording: true})
	if err != nil {
		say.line(fmt.Sprintf("--admin %s: %v; the traffic goes on without", f.addr, err))
		return parts{}
	}
	if strings.HasSuffix(f.addr, ":0") {
		say.info("admin endpoint at " + s.URL()) // nobody could know
	}
	return parts{s, c.Tap(rec)}
}

// run runs the traffic with what is beside it, until the traffic ends. The traffic
// takes the signals itself: it knows what they mean to a server.
func (p parts) run(traffic func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var g group.Group
	g.Add(func() error {
		if p.server != nil {
			p.server.Serving(true)
		}
		traffic(ctx)
		return nil
	}, func(error) { cancel() })
	if p.server != nil {
		g.Add(p.server.Run, func(error) { p.server.Close() })
	}
	g.Run()
}
