package record

// The limits that a [Removed] names.
const (
	LimitRecording = "max-recording"
	LimitTotal     = "max-total"
	LimitAge       = "max-age"
)

// Removed tells which files a recorder removed from its folder to keep a limit.
type Removed struct {
	Why   string `json:"why"` // the limit
	Files int64  `json:"files"`
	Bytes int64  `json:"bytes"`
	// Segments are the numbers of this recording's own segments among them, which
	// readers will find missing; Others the names of other recordings' files. At most
	// maxRemovedNames of each are told.
	Segments []int    `json:"segments,omitzero"`
	Others   []string `json:"others,omitzero"`
}

const maxRemovedNames = 64

func (r *Removed) segment(n int, size int64) {
	r.Files++
	r.Bytes += size
	if len(r.Segments) < maxRemovedNames {
		r.Segments = append(r.Segments, n)
	}
}

func (r *Removed) other(name string, size int64) {
	r.Files++
	r.Bytes += size
	if len(r.Others) < maxRemovedNames {
		r.Others = append(r.Others, name)
	}
}
