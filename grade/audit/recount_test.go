package audit_test

import (
	"bytes"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/klauspost/compress/zstd"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/audit"
	"github.com/sixlink/sixlink/record/session"
	"github.com/sixlink/sixlink/record/session/catalog"
)

// recount is what a slow and obvious loop over sessions finds of one tool.
type recount struct {
	calls, sessions, toolErrors, protocolErrors, cancelled, waited, repeats int64
	states                                                                  map[string]int64
	latencies, sizes                                                        []int64
	checked, violated                                                       int64
}

// Totals are those of a slow, obvious count over the sessions of mixed eras, quantiles
// within the error that the report states.
func TestTotalsEqualARecount(t *testing.T) {
	r := reportOf(t, measured(t, audit.Filter{}), "")
	tools := map[[2]string]*recount{}
	eras, hosts := map[string]int64{}, map[[2]string]int64{}
	var sessions, used, paged int64
	for _, rec := range recordings(t) {
		for _, s := range rec.Sessions {
			sessions++
			if len(s.Calls) > 0 {
				used++
			}
			if s.Era == "" {
				eras["unknown"]++
			} else {
				eras[string(s.Era)]++
			}
			hosts[[2]string{s.Client.Name, s.Client.Version}]++
			if slices.ContainsFunc(s.Lists, func(l *catalog.List) bool { return l.State == catalog.Partial }) {
				paged++
			}
			ev := grade.Evidence(s, rec.Sessions, nil)
			seen := map[string]bool{}
			for i, c := range s.Calls {
				k := [2]string{s.Server.Name, c.Tool}
				n := tools[k]
				if n == nil {
					n = &recount{states: map[string]int64{}}
					tools[k] = n
				}
				n.calls++
				n.states[string(c.State)]++
				if !seen[c.Tool] {
					seen[c.Tool] = true
					n.sessions++
				}
				switch c.State {
				case session.CallToolError:
					n.toolErrors++
				case session.CallProtocolError, session.CallMalformed, session.CallConnectionDrop, session.CallNeverAnswered:
					n.protocolErrors++
				case session.CallCancelled, session.CallClientTimeout, session.CallInputRequired:
					n.cancelled++
				}
				if ns, ok := c.DurationNs(); ok && c.State != session.CallCancelled && c.State != session.CallClientTimeout && c.State != session.CallInputRequired {
					n.latencies = append(n.latencies, max(0, ns))
				}
				if c.WaitedNs > 0 {
					n.waited++
				}
				if i > 0 && s.Calls[i-1].Tool == c.Tool && reflect.DeepEqual(argsOf(t, s.Calls[i-1]), argsOf(t, c)) {
					n.repeats++
				}
				for k := range ev.Results {
					if ev.Results[k].Seq == c.Seq && ev.Results[k].Index == c.Index {
						size, err := ev.Results[k].Size()
						if err != nil {
							t.Fatal(err)
						}
						n.sizes = append(n.sizes, size.Bytes)
					}
				}
				if ev.Calls[i].Entry != nil && len(ev.Calls[i].Entry.InputSchema) > 0 {
					found, err := ev.Violations(i)
					if err != nil {
						t.Fatal(err)
					}
					n.checked++
					if len(found) > 0 {
						n.violated++
					}
				}
			}
		}
	}
	same := func(what string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, counted %v", what, got, want)
		}
	}
	same("sessions", []int64{r.Sessions.Total, r.Sessions.Used}, []int64{sessions, used})
	same("eras", r.Sessions.Eras, eras)
	if eras["initialize"] == 0 || eras["stateless"] == 0 || paged > 0 {
		t.Fatalf("the pile is not mixed: %v", eras)
	}
	for _, h := range r.Hosts {
		same("host "+h.Name, h.Sessions, hosts[[2]string{h.Name, h.Version}])
	}
	same("tools", len(r.Tools), len(tools))
	all := &recount{}
	for i := range r.Tools {
		p := &r.Tools[i]
		n := tools[[2]string{p.Server, p.Tool}]
		if n == nil {
			t.Fatalf("no such tool %q", p.Tool)
		}
		same(p.Tool+" counts", []int64{p.Calls, *p.Sessions, p.Errors["content-error"], p.Errors["protocol-error"], p.Cancelled, p.Waited, p.Repeats, p.Arguments.Checked, p.Arguments.Violated},
			[]int64{n.calls, n.sessions, n.toolErrors, n.protocolErrors, n.cancelled, n.waited, n.repeats, n.checked, n.violated})
		same(p.Tool+" states", p.States, n.states)
		close(t, p.Tool+" latency", &p.Latency, n.latencies, n.calls)
		close(t, p.Tool+" size", &p.Size, n.sizes, n.calls)
		all.calls += n.calls
		all.repeats += n.repeats
		all.latencies = append(all.latencies, n.latencies...)
		all.sizes = append(all.sizes, n.sizes...)
	}
	same("all calls", []int64{r.Calls.Calls, r.Calls.Repeats}, []int64{all.calls, all.repeats})
	close(t, "all latencies", &r.Calls.Latency, all.latencies, all.calls)
	close(t, "all sizes", &r.Calls.Size, all.sizes, all.calls)
	if all.repeats == 0 || r.Calls.Arguments.Violated == 0 {
		t.Error("the pile has no repeat or no violation")
	}
}

// close holds a distribution against all its values: quantiles are the value of their
// rank, at most 1/128 more.
func close(t *testing.T, what string, got *audit.DistPart, values []int64, of int64) {
	t.Helper()
	slices.Sort(values)
	n := len(values)
	if got.Measured != int64(n) || got.NotMeasured != of-int64(n) {
		t.Errorf("%s: measured %d and not %d; counted %d of %d", what, got.Measured, got.NotMeasured, n, of)
	}
	if n == 0 {
		return
	}
	if got.Min != values[0] || got.Max != values[n-1] {
		t.Errorf("%s: %d to %d, counted %d to %d", what, got.Min, got.Max, values[0], values[n-1])
	}
	for p, q := range map[int]int64{50: got.P50, 95: got.P95, 99: got.P99} {
		exact := values[(n*p+99)/100-1]
		if q < exact || q > exact+exact/128 {
			t.Errorf("%s: p%d is %d, counted %d", what, p, q, exact)
		}
	}
}

func argsOf(t *testing.T, c *session.Call) (v any) {
	t.Helper()
	if c.Arguments.IsZero() {
		return map[string]any{}
	}
	b, err := c.Arguments.Bytes()
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// The same again for calls over stdio, from the lines of the files alone: neither the
// reader nor the decoder of sessions is asked.
func TestCallsEqualTheLines(t *testing.T) {
	calls, failed := map[string]int64{}, map[string]int64{}
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var ms []*audit.Measured
	m := meter(t, grade.BuiltIn(), audit.Filter{})
	for _, rec := range recordings(t) {
		if strings.Contains(rec.Path, "http") || strings.Contains(rec.Path, "edges") { // those have batches and ids of other spelling
			continue
		}
		ms = append(ms, m.Measure(rec))
		packed, err := os.ReadFile(rec.Path)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := d.DecodeAll(packed, nil)
		if err != nil {
			t.Fatal(err)
		}
		tool := map[string]string{} // by id
		for line := range bytes.Lines(plain) {
			var f struct {
				Kind, From string
				Message    struct {
					ID     any
					Method string
					Params struct {
						Name      string
						Cancelled any `json:"requestId"`
						Responses any `json:"inputResponses"`
					}
					Result *struct {
						IsError bool `json:"isError"`
					}
					Error any
				}
			}
			if json.Unmarshal(line, &f, json.MatchCaseInsensitiveNames(true)) != nil || f.Kind != "frame" {
				continue
			}
			msg := &f.Message
			id, _ := json.Marshal(msg.ID)
			switch {
			case f.From == "client" && msg.Method == "tools/call":
				if msg.Params.Responses != nil {
					continue // it goes on with a call
				}
				calls[msg.Params.Name]++
				tool[string(id)] = msg.Params.Name
			case f.From == "client" && msg.Method == "notifications/cancelled":
				id, _ = json.Marshal(msg.Params.Cancelled)
				delete(tool, string(id)) // what comes now is late
			case f.From == "server" && msg.Method == "" && (msg.Error != nil || msg.Result != nil && msg.Result.IsError):
				if name := tool[string(id)]; name != "" {
					failed[name]++
				}
			}
		}
	}
	r := reportOf(t, ms, "")
	got, bad := map[string]int64{}, map[string]int64{}
	for _, p := range r.Tools {
		got[p.Tool] += p.Calls
		if n := p.Errors["content-error"] + p.Errors["protocol-error"] - p.Unanswered; n > 0 {
			bad[p.Tool] += n
		}
	}
	if !reflect.DeepEqual(got, calls) {
		t.Errorf("calls %v, in the lines %v", got, calls)
	}
	if !reflect.DeepEqual(bad, failed) {
		t.Errorf("failed %v, in the lines %v", bad, failed)
	}
}
