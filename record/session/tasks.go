package session

import (
	"crypto/sha256"

	"github.com/sixlink/sixlink/record/session/jsonscan"
)

// taskStatus is a task as a message shows it.
type taskStatus struct {
	id, status, message string
	seq, at             int64
}

// maxStatuses bounds the tasks whose status was seen before their call's answer.
const maxStatuses = 1024

// taskKey bounds the length of ids in the map.
func taskKey(id string) string {
	if len(id) <= maxName {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return string(sum[:])
}

// taskFrom reads the members of a task.
func taskFrom(o *object, w where) (t taskStatus, ok bool) {
	t.id, ok = o.text(fTaskID)
	t.status = textOf(o, fStatus)
	message, _ := o.text(fStatusMessage)
	t.message = clip(message, maxText)
	t.seq, t.at = w.seq, w.at
	return t, ok
}

// taskOf tells whether a result is a task handle: {task: {taskId …}} in
// 2025-11-25, and resultType "task" with the same or with the members beside it
// in the extension of 2026 (wire.md 2.7).
func taskOf(r *object, resultType string, w where) (t taskStatus, ok bool) {
	if in, is := r.object(fTask); is && in.has(fTaskID) && !r.has(fContent) {
		return taskFrom(in, w)
	}
	if resultType == "task" {
		return taskFrom(r, w)
	}
	return t, false
}

// taskMade ties a task to the call that was answered with its handle.
func (s *sess) taskMade(c *call, t taskStatus, w where) {
	c.Task = &Task{ID: clip(t.id, maxName), Status: t.status, StatusSeq: w.seq}
	c.taskMessage = t.message
	s.tasks[taskKey(t.id)] = c
	if before, ok := s.status[taskKey(t.id)]; ok { // a status may come before the handle
		delete(s.status, taskKey(t.id))
		if ended(before.status) {
			c.taskNow(before)
		}
	}
}

// ended tells whether a task's status is one that it cannot leave.
func ended(status string) bool {
	return status == "completed" || status == "failed" || status == "cancelled"
}

// taskNow takes a status of the task. While it asks for input, the client's
// time runs.
func (c *call) taskNow(t taskStatus) {
	if t.status == "" || ended(c.Task.Status) && !ended(t.status) {
		return // an old status, overtaken on its way
	}
	before := c.Task.Status
	c.Task.Status, c.Task.StatusSeq, c.taskMessage = t.status, t.seq, t.message
	switch {
	case t.status == "input_required" && before != t.status:
		c.wait(t.at)
		c.taskWaits = true
	case t.status != "input_required" && c.taskWaits:
		c.taskWaits = false
		c.resume(t.at)
	}
	if ended(t.status) {
		c.taskEnd, c.taskEndAt = t.seq, t.at
	}
}

// taskNoted takes notifications/tasks/status.
func (s *sess) taskNoted(m *message, w where) {
	t, ok := taskFrom(&m.params, w)
	if !ok {
		return
	}
	if c := s.tasks[taskKey(t.id)]; c != nil {
		c.taskNow(t)
	} else if len(s.status) < maxStatuses {
		t.id = ""
		id, _ := m.params.text(fTaskID)
		s.status[taskKey(id)] = t
	}
}

// taskAnswered reads the answer to a tasks/* request about a call's task.
func (s *sess) taskAnswered(o *open, m *message, w where, state ExchangeState) {
	c, ex := o.call, o.ex
	if ex.Late || c.Task == nil {
		return
	}
	switch ex.Method {
	case methodTaskResult:
		if c.taskDone {
			return // the first one counts
		}
		// It is the call's own answer, of the original type (2025-11-25).
		c.taskDone = true
		c.decide(ex, m, w, state)
		if c.Task.Status == "failed" && c.State == CallResult {
			c.State = CallToolError // a task whose state ends in failed is an error (grading.md 0.1)
		}
		s.settled(c, w.at)
	case methodTaskGet, methodTaskCancel:
		if state != ExchangeResult {
			return
		}
		t, ok := taskFrom(&m.result, w)
		if !ok {
			return
		}
		c.taskNow(t)
		if !c.taskDone && ended(t.status) && (m.result.has(fResult) || m.result.has(fError)) {
			// The extension of 2026 has the result inside the task.
			c.taskDone = true
			s.inline(c, ex, m, w)
		}
	}
}

// inline takes a result or an error that stands inside a task.
func (s *sess) inline(c *call, ex *Exchange, m *message, w where) {
	c.AnswerSeq, c.AnswerAt = w.seq, w.at
	if in, ok := m.result.object(fResult); ok {
		c.Result = s.p.value(w.line, m.result.at(fResult))
		c.outcome(in, w)
		if c.Task.Status == "failed" && c.State == CallResult {
			c.State = CallToolError
		}
	} else if in, ok := m.result.object(fError); ok {
		// The task failed: an error of the tool's (grading.md 0.1), whatever its code.
		c.Error = &RPCError{}
		c.Error.Code, _ = jsonscan.Int(in.token(fCode))
		message, _ := in.text(fMessage)
		c.Error.Message = clip(message, maxText)
		c.State, c.ErrorText = CallToolError, c.Error.Message
	} else {
		c.State = CallMalformed
	}
	s.settled(c, w.at)
}

// taskState is the state of a call whose task's result is not on record.
func (c *call) taskState() CallState {
	switch c.Task.Status {
	case "failed":
		if c.ErrorText == "" {
			c.ErrorText = c.taskMessage
		}
		c.AnswerSeq, c.AnswerAt = c.taskEnd, c.taskEndAt
		return CallToolError
	case "cancelled":
		c.AnswerSeq, c.AnswerAt = 0, 0
		return CallCancelled
	}
	c.AnswerSeq, c.AnswerAt = 0, 0 // the handle is no answer
	return CallTaskHandle
}
