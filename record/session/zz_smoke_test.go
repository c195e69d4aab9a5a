package session_test

import (
	"fmt"
	"testing"

	"github.com/sixlink/sixlink/fixtures"
	"github.com/sixlink/sixlink/record/session"
)

func dump(name string, res *session.Result) {
	fmt.Println("==", name, len(res.Sessions), res.Unknown)
	for _, s := range res.Sessions {
		fmt.Printf(" %s %s %s %s [%s %s] [%s] seq %d-%d basis: %s\n", s.ID, s.Transport, s.Era, s.ProtocolVersion, s.Client.Name, s.Client.Version, s.Server.Name, s.FirstSeq, s.LastSeq, s.Basis)
		for _, ex := range s.Requests {
			fmt.Printf("   %s %d x%d %s id=%s %s -> %d", ex.From, ex.Seq, ex.HTTP.Exchange, ex.Method, ex.ID.Raw, ex.State, ex.AnswerSeq)
			fmt.Printf(" (x%d ev%d %s) HTTP %d", ex.HTTP.AnswerExchange, ex.HTTP.AnswerEvent, ex.HTTP.AnswerEventID, ex.HTTP.Status)
			if ex.Error != nil {
				fmt.Printf(" %+v", *ex.Error)
			}
			fmt.Println()
		}
		for _, c := range s.Calls {
			fmt.Printf("   call %d %s %s attempts %d ended %q\n", c.Seq, c.Tool, c.State, len(c.Attempts), c.Ended)
		}
		for _, l := range s.Lists {
			fmt.Printf("   list %s %d tools %s\n", l.State, len(l.Tools), l.Why)
		}
		fmt.Printf("   orphans %d capture %+v\n", len(s.Orphans), s.Capture)
		for _, o := range s.Orphans {
			fmt.Printf("   orphan %+v\n", *o)
		}
		for _, r := range s.Remarks {
			fmt.Printf("   remark %+v\n", r)
		}
	}
}

func TestSmoke(t *testing.T) {
	for _, f := range fixtures.HTTPCaptures() {
		r, err := fixtures.HTTPCapture(f)
		if err != nil {
			t.Fatal(err)
		}
		dump(f, decode(t, r))
	}
	for _, n := range []string{"33-session-404", "35-notification-statuses", "37-sse-timing", "39-mislabelled-body", "41-get405-delete", "43-auth-401", "45-redirect-307", "96-sent-again"} {
		r, err := fixtures.HTTPCase(n)
		if err != nil {
			t.Fatal(err)
		}
		dump(n, decode(t, r))
	}
}
