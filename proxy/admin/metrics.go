package admin

import (
	"strconv"
	"strings"

	"github.com/sixlink/sixlink/record"
)

// writer writes the text format: few metrics and fixed names, so a library would
// be more than they are.
type writer struct{ strings.Builder }

func (w *writer) family(name, kind, help string) {
	w.WriteString("# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n")
}

// sample writes one sample; labels are names and values in turn.
func (w *writer) sample(name string, v float64, labels ...string) {
	w.WriteString(name)
	open := "{"
	for i := 0; i < len(labels); i += 2 {
		w.WriteString(open + labels[i] + `="` + escape.Replace(labels[i+1]) + `"`)
		open = ","
	}
	if len(labels) > 0 {
		w.WriteByte('}')
	}
	w.WriteString(" " + number(v) + "\n")
}

func (w *writer) single(name, kind, help string, v float64) {
	w.family(name, kind, help)
	w.sample(name, v)
}

var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func number(v float64) string {
	if v == float64(int64(v)) {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// metrics gives all figures.
func (c *Counters) metrics(version string, recording bool, s record.Stats) string {
	w := &writer{}
	w.family("sixlink_build_info", "gauge", "Always 1; the version is its label.")
	w.sample("sixlink_build_info", 1, "version", version)

	w.family("sixlink_bytes_total", "counter", "Bytes that were read, over stdio or of HTTP bodies. A bridge has both.")
	for i, from := range [...]string{"client", "server", "stderr"} {
		w.sample("sixlink_bytes_total", float64(c.stdio[i].Load()), "from", from, "over", "stdio")
	}
	for i, from := range [...]string{"client", "server"} {
		w.sample("sixlink_bytes_total", float64(c.http[i].Load()), "from", from, "over", "http")
	}

	c.mu.Lock()
	ended, latency, sum := c.ended, c.latency, c.sum
	made, streams, open := c.made, c.streams, len(c.open)
	c.mu.Unlock()
	w.family("sixlink_exchanges_total", "counter", "HTTP exchanges that ended, by the class of their status; none: no head came.")
	for i, class := range classes {
		w.sample("sixlink_exchanges_total", float64(ended[i]), "code", class)
	}
	w.single("sixlink_open_exchanges", "gauge", "HTTP exchanges that are open.", float64(open))
	w.single("sixlink_open_streams", "gauge", "Event streams that are open.", float64(streams))
	w.single("sixlink_made_responses_total", "counter", "Responses that sixlink made itself.", float64(made))
	w.family("sixlink_upstream_latency_seconds", "histogram", "Time from a request's head to the head of the upstream's response. Over stdio nothing is measured.")
	count := int64(0)
	for i, bound := range buckets {
		count += latency[i]
		w.sample("sixlink_upstream_latency_seconds_bucket", float64(count), "le", number(bound))
	}
	count += latency[len(buckets)]
	w.sample("sixlink_upstream_latency_seconds_bucket", float64(count), "le", "+Inf")
	w.sample("sixlink_upstream_latency_seconds_sum", sum)
	w.sample("sixlink_upstream_latency_seconds_count", float64(count))

	w.single("sixlink_recording", "gauge", "1 while a recording is being written, else 0.", float64(btoi(recording && !s.Broken)))
	w.single("sixlink_records_total", "counter", "Records of the recording, lost ones included.", float64(s.Records))
	w.single("sixlink_recording_gaps_total", "counter", "Losses of the recording that have begun.", float64(s.Gaps))
	w.single("sixlink_recording_files_rotated_total", "counter", "Files of the recording that were begun after the first.", float64(s.Rotated))
	w.single("sixlink_recording_files_removed_total", "counter", "Files of recordings that were removed for a limit.", float64(s.Removed))
	w.single("sixlink_recording_removed_bytes_total", "counter", "Bytes of those files.", float64(s.RemovedBytes))
	w.single("sixlink_recording_queue_bytes", "gauge", "Bytes that wait to be written.", float64(s.Queued))
	w.single("sixlink_recording_queue_limit_bytes", "gauge", "Bytes that may wait before records are lost.", float64(s.Limit))
	return w.String()
}
