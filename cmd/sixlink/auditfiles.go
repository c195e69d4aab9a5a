package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/sixlink/sixlink/grade"
	"github.com/sixlink/sixlink/grade/audit"
	"github.com/sixlink/sixlink/record"
)

// auditPaths puts the recordings of a folder, and of those below it, in its place.
func auditPaths(args []string) ([]string, error) {
	var paths []string
	for _, arg := range args {
		if fi, err := os.Stat(arg); err != nil || !fi.IsDir() {
			paths = append(paths, arg) // what is wrong with it is told in its turn
			continue
		}
		n := len(paths)
		err := filepath.WalkDir(arg, func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() && strings.HasSuffix(e.Name(), record.Suffix) {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(paths) == n {
			return nil, fmt.Errorf("%s: no recording (*%s) is in this folder", arg, record.Suffix)
		}
	}
	return paths, nil
}

// auditFile is a file as its first header tells.
type auditFile struct {
	path    string
	id      string
	segment int
	start   int64
	size    int64
	err     string
	left    bool // by the filter on labels
	twice   bool
}

// auditJob are the files of one recording that begin it: one, or several later
// segments without their beginning.
type auditJob struct {
	files []auditFile
	done  chan []*audit.Measured
	more  []string // the files that were read
	told  string
}

// headers opens every file and reads no more than its first header.
func (a *auditRun) headers(paths []string) []auditFile {
	files := make([]auditFile, len(paths))
	all := make([]int, len(paths))
	for i := range all {
		all[i] = i
	}
	opts := record.Options{MaxDecompressed: a.limit, Decoders: &record.Decoders{}}
	inParallel(all, func(i int) {
		f := &files[i]
		f.path = paths[i]
		if fi, err := os.Stat(f.path); err == nil {
			f.size = fi.Size()
		}
		r, err := record.Open(f.path, opts)
		if err != nil {
			f.err, f.id = err.Error(), contentID(f.path)
			return
		}
		h := r.Header()
		f.id, f.segment, f.start, f.left = strings.Clone(h.ID), h.Segment, h.Start.UnixNano(), !a.filter.Header(h.Labels)
		r.Close()
	})
	// The order is that of the content, so that nothing rests on names or on the order
	// on the command line; of two copies the larger is taken.
	slices.SortFunc(files, func(x, y auditFile) int {
		return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(x.id, y.id), cmp.Compare(x.segment, y.segment), cmp.Compare(y.size, x.size), cmp.Compare(x.path, y.path))
	})
	type place struct {
		id      string
		segment int
	}
	seen := make(map[place]bool, len(files))
	for i := range files {
		p := place{files[i].id, files[i].segment}
		files[i].twice = seen[p] && p.id != ""
		seen[p] = true
	}
	return files
}

// files measures the recordings, one a processor at a time, and adds them up in their
// order, so that a pile of any size takes the memory of a few. later are those that
// may change still, or that could not be read: they are no part of the state.
func (a *auditRun) files(s stdio, name string, paths []string) (later []*audit.Measured, err error) {
	defer collectLess()()
	files := a.headers(paths)
	a.paths = make(map[string]string, len(files))
	var first, rest []auditFile
	for _, f := range files {
		if _, is := a.paths[f.id]; !is {
			a.paths[f.id] = f.path
		}
		if f.segment > 0 && f.err == "" && !f.twice && !f.left {
			rest = append(rest, f)
		} else {
			first = append(first, f)
		}
	}
	covered := map[string]bool{}
	add := func(j *auditJob, all []*audit.Measured) error {
		fmt.Fprint(s.err, j.told)
		for _, path := range j.more {
			covered[fileKey(path)] = true
		}
		for i, m := range all {
			if err := a.trees.add(m); err != nil {
				return err
			}
			if m.Skipped == audit.SkipUnreadable || m.Skipped == audit.SkipTwice || m.Skipped == audit.SkipFiltered || m.State == string(record.Live) {
				later = append(later, m)
				continue
			}
			a.state.Totals.Add(m, a.by)
			f := &j.files[i]
			a.state.Counted = append(a.state.Counted, audit.Counted{ID: f.id, Segment: f.segment, Size: f.size})
		}
		return nil
	}
	counted := len(a.state.Counted) // those before are in order
	known := func(f *auditFile) bool {
		old := audit.State{Counted: a.state.Counted[:counted]}
		size, is := old.Has(f.id, f.segment)
		if is && size != f.size {
			fmt.Fprintf(s.err, "sixlink %s: %s has another size than when it was counted: it stays as it was counted (leave --resume out to count it anew)\n", name, f.path)
		}
		return is
	}
	var jobs []*auditJob
	for i := range first {
		f := &first[i]
		if f.err == "" && !f.twice && known(f) {
			continue
		}
		jobs = append(jobs, &auditJob{files: first[i : i+1]})
	}
	if err := a.inOrder(name, jobs, add); err != nil {
		return nil, err
	}
	// A later segment is a recording of its own only when its beginning is not here.
	jobs = nil
	slices.SortStableFunc(rest, func(x, y auditFile) int { return cmp.Or(cmp.Compare(x.id, y.id), cmp.Compare(x.segment, y.segment)) })
	for i := 0; i < len(rest); {
		j := i + 1
		for j < len(rest) && rest[j].id == rest[i].id {
			j++
		}
		left := slices.DeleteFunc(slices.Clone(rest[i:j]), func(f auditFile) bool {
			if covered[fileKey(f.path)] || known(&f) {
				return true
			}
			_, begun := slices.BinarySearchFunc(a.state.Counted[:counted], audit.Counted{ID: f.id}, func(x, y audit.Counted) int { return cmp.Compare(x.ID, y.ID) })
			return begun // a part of what was counted before
		})
		if len(left) > 0 {
			jobs = append(jobs, &auditJob{files: left})
		}
		i = j
	}
	return later, a.inOrder(name, jobs, add)
}

// fileKey is a file's name without what it was reached by.
func fileKey(path string) string {
	if p, err := filepath.Abs(path); err == nil {
		path = p
	}
	if p, err := filepath.EvalSymlinks(path); err == nil {
		path = p
	}
	return path
}

// saveEvery is how many bytes of recordings are measured between two writes of the
// state: what a crash costs.
const saveEvery = 1 << 30

// inOrder measures jobs in parallel and hands what they give to add in their order. At
// most two a processor are under way or wait for their turn.
func (a *auditRun) inOrder(name string, jobs []*auditJob, add func(*auditJob, []*audit.Measured) error) error {
	workers := runtime.GOMAXPROCS(0)
	queue := make(chan *auditJob, workers)
	work := make(chan *auditJob)
	stop := make(chan struct{})
	ended := make(chan struct{})
	for range workers {
		go func() {
			for j := range work {
				j.done <- a.measure(name, j)
			}
			ended <- struct{}{}
		}()
	}
	go func() {
		defer close(queue)
		defer close(work)
		for _, j := range jobs {
			j.done = make(chan []*audit.Measured, 1)
			select {
			case queue <- j:
				work <- j
			case <-stop:
				return
			}
		}
	}()
	var err error
	since := int64(0)
	for j := range queue {
		all := <-j.done
		if err != nil {
			continue
		}
		for i := range j.files {
			since += j.files[i].size
		}
		if err = add(j, all); err == nil && a.resume != "" && since >= saveEvery {
			since = 0
			snapshot := *a.state
			snapshot.Counted = slices.Clone(a.state.Counted) // writing sorts it
			err = record.WriteFileFrom(a.resume, snapshot.Write)
		}
		if err != nil {
			close(stop)
		}
	}
	for range workers {
		<-ended
	}
	return err
}

// measure reads the recording of a job.
func (a *auditRun) measure(name string, j *auditJob) (out []*audit.Measured) {
	var told strings.Builder
	defer func() { j.told = told.String() }()
	read := map[string]bool{}
	var taken []auditFile
	for _, f := range j.files {
		if read[fileKey(f.path)] {
			continue
		}
		m := a.measureFile(stdio{err: &told}, name, &f, func(files []string) {
			for _, p := range files {
				read[fileKey(p)] = true
			}
			j.more = append(j.more, files...)
		})
		taken, out = append(taken, f), append(out, m)
	}
	j.files = taken
	return out
}

func (a *auditRun) measureFile(s stdio, name string, f *auditFile, took func([]string)) *audit.Measured {
	skip := func(why, detail string) *audit.Measured {
		return &audit.Measured{Recording: f.id, Path: f.path, Size: f.size, Skipped: why, Detail: detail}
	}
	unreadable := func(why string) *audit.Measured {
		// The reason is in the JSON, and a path of this machine must not be.
		why = strings.ReplaceAll(why, f.path, "the file")
		if dir := filepath.Dir(f.path); dir != "." && dir != "/" {
			why = strings.ReplaceAll(why, dir+"/", "")
		}
		return a.meter.Measure(&audit.Recording{Recording: grade.Recording{ID: f.id, Path: f.path, Unreadable: why}, Size: f.size})
	}
	switch {
	case f.err != "":
		fmt.Fprintf(s.err, "sixlink %s: %s\n", name, f.err)
		if f.twice {
			return skip(audit.SkipTwice, "")
		}
		return unreadable(f.err)
	case f.twice:
		return skip(audit.SkipTwice, "")
	case f.left:
		return skip(audit.SkipFiltered, "")
	}
	opts := record.Options{MaxDecompressed: a.limit, Decoders: auditDecoders, Reuse: true}
	l, err := loadByKey(f.path, opts, a.key)
	if err != nil {
		fail(s, name, err, 0)
		return unreadable(err.Error())
	}
	defer l.Close()
	files := l.reader.Files()
	took(slices.Clone(files))
	size := int64(0)
	for _, p := range files {
		if fi, err := os.Stat(p); err == nil {
			size += fi.Size()
		}
	}
	return a.meter.Measure(&audit.Recording{Recording: *toGrade(l), State: string(l.end.State), Size: size})
}

// auditDecoders are shared by the readers of a run.
var auditDecoders = &record.Decoders{}
