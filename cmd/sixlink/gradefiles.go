package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/record"
)

// gradeGarbage is how many bytes of garbage may come together, beside half of what is
// in use, before it is collected: with Go's own 4 MiB a pile is collected all the time.
const gradeGarbage = 8 << 20

// collectLess makes the collector count an array that is never touched, and so is not
// resident, as in use. undo ends that.
func collectLess() (undo func()) {
	ballast := make([]byte, 2*gradeGarbage)
	before := debug.SetGCPercent(50)
	return func() {
		debug.SetGCPercent(before)
		runtime.KeepAlive(ballast)
	}
}

// gradeFiles reads the recordings, one a processor at a time, and grades each
// while it is at hand: a pile of any size takes the memory of a few. What cannot
// be read is told, and is in the verdict with the reason, so that it is never a
// pass. A file that another one's recording goes on in is part of that.
//
// Recordings that are joined with transcripts are read twice: all of them for the
// join, and then each to be graded. So is a pile of which one carries one: it may be
// that of others, too. fresh makes a grader.
func gradeFiles(s stdio, name string, paths []string, limit int64, key string, talks *talkFlags, fresh func() (*grade.Grader, error)) (*grade.Grader, error) {
	defer collectLess()()
	g, err := fresh()
	if err != nil {
		return nil, err
	}
	if !talks.any() {
		var told bytes.Buffer
		if !gradePlain(stdio{out: s.out, err: &told}, name, paths, limit, key, nil, g) {
			s.err.Write(told.Bytes())
			return g, nil
		}
		if g, err = fresh(); err != nil {
			return nil, err
		}
	}
	return g, gradeJoined(s, name, paths, limit, key, talks, g)
}

// gradeJoined joins the recordings with transcripts and grades them.
func gradeJoined(s stdio, name string, paths []string, limit int64, key string, talks *talkFlags, g *grade.Grader) error {
	got, err := collect(paths, record.Options{MaxDecompressed: limit, Decoders: &record.Decoders{}}, key)
	if err != nil {
		return err
	}
	t := *talks
	if t.find {
		found, err := findTalks(s, name, got.wires)
		if err != nil {
			fmt.Fprintf(s.err, "sixlink %s: %v\n", name, err) // what is measured without one still is
		}
		t.paths = append(slices.Clone(t.paths), found...)
	}
	cs, err := t.read()
	if err != nil {
		return err
	}
	r := joinTalks(distinct(append(cs, got.attached...)), got.wires, !t.find)
	if talks.any() {
		tellJoin(s, name, r)
		talks.joined = r
	}
	gradePlain(s, name, paths, limit, key, &joins{grade.Talks(r), grade.Groups(r)}, g)
	return nil
}

// joins are the transcripts of recordings, and which recordings they hold together,
// by the recordings' ids.
type joins struct {
	talks  map[string]map[string][]*grade.Talk
	groups map[string]string
}

// gradePlain grades the recordings with the transcripts that are joined to each;
// without any, those that carry one are not graded, and it says that there are some.
func gradePlain(s stdio, name string, paths []string, limit int64, key string, joined *joins, g *grade.Grader) (carry bool) {
	jobs := make([]gradeJob, len(paths))
	all := make([]int, len(paths))
	for i, path := range paths {
		jobs[i].path, jobs[i].key, jobs[i].joins, all[i] = path, key, joined, i
	}
	opts := record.Options{MaxDecompressed: limit, Decoders: &record.Decoders{}, Reuse: true}
	inParallel(all, func(i int) { jobs[i].run(name, opts, g, false) })
	var later []int
	for i := range jobs {
		if jobs[i].later {
			later = append(later, i)
		}
	}
	// A later segment is a recording of its own only when its beginning is not here.
	var left []int
	for _, i := range later {
		covered := false
		for j := range jobs {
			covered = covered || sameFile(jobs[j].more, jobs[i].path)
		}
		if !covered {
			left = append(left, i)
		}
	}
	for _, i := range left {
		// In order: a third segment may go on from the second one.
		covered := false
		for _, j := range left {
			covered = covered || j != i && sameFile(jobs[j].more, jobs[i].path)
		}
		if !covered {
			jobs[i].run(name, opts, g, true)
		}
	}
	for i := range jobs {
		s.err.Write(jobs[i].told.Bytes())
		carry = carry || jobs[i].carries
	}
	return carry
}

// gradeJob is one file, with what there is to tell of it: that comes in the order
// of the command line, whatever was ready first.
type gradeJob struct {
	path string
	key  string // of sessions over HTTP
	told bytes.Buffer
	more []string // the files that its recording goes on in
	// later says that the file is not the first segment of its recording.
	later bool
	// joins are the transcripts; nil: none are looked for, and carries says that the
	// recording has one of its own.
	joins   *joins
	carries bool
}

// run grades the file; without alone, a later segment is only marked as one.
func (j *gradeJob) run(name string, opts record.Options, g *grade.Grader, alone bool) {
	s := stdio{err: &j.told}
	var l *loaded
	var labels map[string]string // nil: not known
	r, err := record.Open(j.path, opts)
	if err == nil {
		if labels = r.Header().Labels; labels == nil {
			labels = map[string]string{}
		}
		if j.later = r.Header().Segment > 0; j.later && !alone {
			r.Close()
			return
		}
		l, err = loadFrom(j.path, r, j.key, true)
	}
	if err != nil {
		fail(s, name, err, 0)
		g.Add(&grade.Recording{ID: contentID(j.path), Path: j.path, Labels: labels, Unreadable: err.Error()})
		return
	}
	defer l.Close()
	j.more = l.reader.Files()[1:]
	rec := toGrade(l)
	if j.joins != nil {
		rec.Joined, rec.Group = j.joins.talks[rec.ID], j.joins.groups[rec.ID]
	} else if lines, err := l.talk.Lines(); err != nil || lines != nil {
		j.carries = true
		return
	}
	ended(s, name, l.path, l.end)
	rec.Again = func() (*grade.Recording, func(), error) {
		l, err := loadLean(j.path, opts, j.key)
		if err != nil {
			return nil, nil, err
		}
		return toGrade(l), func() { l.Close() }, nil
	}
	g.Add(rec)
}

// toGrade is a recording as the grader takes it.
func toGrade(l *loaded) *grade.Recording {
	return &grade.Recording{ID: l.header.ID, Path: l.path, Torn: l.end.Torn || l.end.State != record.Sealed,
		Gaps: int(l.end.Gaps), Midway: l.header.Segment > 0 || l.header.FirstSeq > 1, Labels: l.header.Labels, Sessions: l.sessions, Clock: l.clock}
}

// recordings puts the recordings of a folder in the place of each folder, sorted by
// name: a pile may be larger than a command line. What is no recording by its name
// is left alone.
func recordings(args []string) ([]string, error) {
	var paths []string
	for _, arg := range args {
		if fi, err := os.Stat(arg); err != nil || !fi.IsDir() {
			paths = append(paths, arg) // what is wrong with it is told in its turn
			continue
		}
		found, err := record.Recordings(arg)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s: no recording (*%s) is in this folder", arg, record.Suffix)
		}
		paths = append(paths, found...)
	}
	return paths, nil
}

// inParallel does all of the work, as many at once as there are processors.
func inParallel(work []int, do func(int)) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(work)) {
		wg.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for _, i := range work {
		next <- i
	}
	close(next)
	wg.Wait()
}

// sameFile tells whether path is one of the files, by whatever name.
func sameFile(files []string, path string) bool {
	fi, err := os.Stat(path)
	if err != nil {
		return false
	}
	for _, f := range files {
		if o, err := os.Stat(f); err == nil && os.SameFile(fi, o) {
			return true
		}
	}
	return false
}

// contentID names a file that cannot be read as a recording by what is in it;
// empty when not even that can be read.
func contentID(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil)[:8])
}
