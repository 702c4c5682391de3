package figures

import "time"

// Format is the version of the document. A reader refuses a larger one.
const Format = 1

// Run is the document of one run.
type Run struct {
	Format            int     `json:"format"`
	Verdict           Verdict `json:"verdict"`
	RequestsPerSecond float64 `json:"requests_per_second"` // good responses, per second of the counted time

	Name    string    `json:"name,omitempty"` // that the user gave the run
	Tool    string    `json:"tool"`           // name and version of the generator
	Command []string  `json:"command"`        // to repeat it
	Began   time.Time `json:"began"`          // of the counted time
	Seconds float64   `json:"seconds"`        // of the counted time
	// Interrupted says that the user ended the run before it was complete.
	Interrupted bool `json:"interrupted,omitempty"`
	// Runs is how many runs Merge put into this document. 0 is 1.
	Runs     int      `json:"runs,omitempty"`
	Machine  Machine  `json:"machine"`
	Settings Settings `json:"settings"`

	Requests    Requests         `json:"requests"`
	Outages     Outages          `json:"outages"`
	Latency     Distribution     `json:"latency"` // of Good and Unexpected
	Errors      []ErrorCount     `json:"errors"`
	Statuses    map[string]int64 `json:"statuses"` // "200": responses with it
	Bytes       Bytes            `json:"bytes"`
	Connections Connections      `json:"connections"`
	Schedule    *Schedule        `json:"schedule,omitempty"` // open loop only
	Generator   Generator        `json:"generator"`
	Server      *Server          `json:"server,omitempty"` // if a process was watched

	Targets   []Target   `json:"targets"`         // in the order of the command line
	Steps     []Step     `json:"steps,omitempty"` // of a ramp
	Intervals []Interval `json:"intervals"`
}

// Verdict says in words what limited the run, and so what its figures mean.
type Verdict struct {
	Limit    Limit    `json:"limit"`
	Text     string   `json:"text"`               // one or two sentences
	Warnings []string `json:"warnings,omitempty"` // more to know, one sentence each
}

// Limit is what limited a run.
type Limit string

// The values of Limit.
const (
	LimitNone      Limit = "none"      // the rate was held and the server answered: nothing was
	LimitServer    Limit = "server"    // the server was
	LimitGenerator Limit = "generator" // the generator was: the figures describe it, not the server
	LimitShared    Limit = "shared"    // both wanted the same cores
	LimitRate      Limit = "rate"      // the rate was not held
	LimitNoise     Limit = "noise"     // too noisy to tell
	LimitErrors    Limit = "errors"    // too many attempts had no good response, or for a second or more none came
)

// Machine is where the generator ran.
type Machine struct {
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	Kernel     string `json:"kernel,omitempty"`
	CPU        string `json:"cpu,omitempty"`
	CPUs       int    `json:"cpus"`            // that the machine has
	Allowed    int    `json:"allowed"`         // that the generator may use
	Cores      string `json:"cores,omitempty"` // which these are, such as "0-1,3"; empty if unknown
	GOMAXPROCS int    `json:"gomaxprocs"`      // of the generator
	GoVersion  string `json:"go_version"`      // that built the generator
	MemoryByte int64  `json:"memory_byte"`     // of the machine, 0 if unknown
}

// Settings are what the run was asked for, as far as a reader of figures must know.
type Settings struct {
	Protocol        string   `json:"protocol"` // "HTTP/1.1", "HTTP/2", "WebSocket"
	Local           bool     `json:"local"`    // the server has an address of this machine, or a UNIX socket
	TLS             bool     `json:"tls"`
	Connections     int      `json:"connections"`
	Threads         int      `json:"threads"`
	Pipeline        int      `json:"pipeline"` // requests in flight on a connection of HTTP/1.1
	Streams         int      `json:"streams"`  // of HTTP/2
	KeepAlive       bool     `json:"keep_alive"`
	RequestsPerConn int      `json:"requests_per_conn,omitempty"`
	ThinkNS         int64    `json:"think_ns,omitempty"`
	Rate            string   `json:"rate,omitempty"` // as given, empty in a closed loop
	Count           int64    `json:"count,omitempty"`
	DurationNS      int64    `json:"duration_ns,omitempty"`
	WarmUpNS        int64    `json:"warm_up_ns,omitempty"`
	TimeoutNS       int64    `json:"timeout_ns"`
	Expectations    []string `json:"expectations,omitempty"`
}

// Requests counts what became of the requests of the counted time. Sent is the sum of
// Good, Unexpected, Failed and Unanswered.
type Requests struct {
	Sent       int64 `json:"sent"`       // whose first byte was handed to the kernel
	Good       int64 `json:"good"`       // complete responses that met the expectations
	Unexpected int64 `json:"unexpected"` // complete responses that did not
	Failed     int64 `json:"failed"`     // no complete response: see Errors
	Unanswered int64 `json:"unanswered"` // in flight when the run ended, which is no failure
	// NotConnected counts attempts to connect that failed, with the handshakes of TLS and
	// WebSocket. They aren't in Sent. One to a server counts for each of its URLs.
	NotConnected int64 `json:"not_connected"`
}

// Failures returns how many attempts had no good response. An attempt is a request that
// didn't wait for its response when the run ended, or one to connect that failed.
func (r *Requests) Failures() int64 { return r.Unexpected + r.Failed + r.NotConnected }

// Attempts returns how many attempts there were.
func (r *Requests) Attempts() int64 { return r.Good + r.Failures() }

// FailedShare returns Failures as a share of Attempts.
func (r *Requests) FailedShare() float64 { return share(r.Failures(), r.Attempts()) }

// Outages are the stretches of the counted time, each of a second or more, in which no good
// response came and some should have: a stretch takes twice the usual latency at least, and
// in an open loop two starts or more fell into it.
type Outages struct {
	Count          int64    `json:"count"`
	Seconds        float64  `json:"seconds"` // all of them together
	LongestSeconds float64  `json:"longest_seconds"`
	List           []Outage `json:"list"` // in order, the first MaxOutages
}

// MaxOutages is how many outages a document lists.
const MaxOutages = 500

// Outage is a stretch of time without a good response.
type Outage struct {
	AtNS    int64   `json:"at_ns"` // since the counted time began
	Seconds float64 `json:"seconds"`
}

// Add adds an outage that is later than the others.
func (o *Outages) Add(one Outage) {
	o.Count++
	o.Seconds += one.Seconds
	o.LongestSeconds = max(o.LongestSeconds, one.Seconds)
	if len(o.List) < MaxOutages {
		o.List = append(o.List, one)
	}
}

// Distribution is how a duration was distributed. Percentiles are of the values
// themselves. There is no mean.
type Distribution struct {
	Count     int64  `json:"count"`
	MinNS     int64  `json:"min_ns"`
	P50NS     int64  `json:"p50_ns"`
	P75NS     int64  `json:"p75_ns"`
	P90NS     int64  `json:"p90_ns"`
	P99NS     int64  `json:"p99_ns"`
	P999NS    int64  `json:"p99_9_ns"`
	P9999NS   int64  `json:"p99_99_ns"`
	MaxNS     int64  `json:"max_ns"`
	Histogram string `json:"histogram,omitempty"` // V2 compressed, base64
}

// ErrorCount is a kind of error, how often it came, and the text of the first.
type ErrorCount struct {
	Kind    string `json:"kind"` // such as "connect", "timeout", "reset", "closed early", "bad response", "status", "body"
	Count   int64  `json:"count"`
	Example string `json:"example"`
}

// Bytes counts payload of the transport: heads and bodies, within TLS.
type Bytes struct {
	Read    int64 `json:"read"`
	Written int64 `json:"written"`
}

// Connections counts connections of the counted time.
type Connections struct {
	Opened   int64        `json:"opened"`            // with those of before the counted time
	Reopened int64        `json:"reopened"`          // of Opened, in place of one that had ended
	Resumed  int64        `json:"resumed"`           // TLS sessions
	Resent   int64        `json:"resent,omitempty"`  // requests that were sent again, because the server ended the connection in good order before it processed them
	Streams  int          `json:"streams,omitempty"` // of HTTP/2 that the server allows at a time, if they are fewer than those asked for
	Connect  Distribution `json:"connect"`           // until TCP was connected
	TLS      Distribution `json:"tls"`               // handshakes alone
}

// Schedule tells how an open loop held its rate.
type Schedule struct {
	Intended  int64        `json:"intended"`   // starts that fell into the counted time
	Waited    int64        `json:"waited"`     // of them, those that had to wait for a free connection
	NotSent   int64        `json:"not_sent"`   // of them, those that never got a connection
	RateRatio float64      `json:"rate_ratio"` // sent / intended
	Late      Distribution `json:"late"`       // for whichever reason: intended start until the bytes were handed to the kernel
}

// Generator is what the generator saw of itself during the counted time.
type Generator struct {
	CPUSeconds    float64      `json:"cpu_seconds"`
	CPUPerRequest int64        `json:"cpu_per_request_ns"`
	Busy          float64      `json:"busy"` // share of the time that its loops did not wait; the busiest loop
	Wait          Distribution `json:"wait"` // how long bytes of responses waited to be read
	Late          Distribution `json:"late"` // open loop: its own lateness, without waits for a free connection
	// DelaySeconds is how long its threads were ready to run and waited for a core, all
	// added up. It is -1 if unknown.
	DelaySeconds float64 `json:"delay_seconds"`
	GCPauses     int64   `json:"gc_pauses"`
	GCPauseMaxNS int64   `json:"gc_pause_max_ns"`
	// Others is the share of the machine's CPU time that neither the generator nor the
	// watched server used, and Stolen the share that the hypervisor took. Both are -1 if
	// unknown.
	Others float64 `json:"others"`
	Stolen float64 `json:"stolen"`
}

// Server is what was seen of the server's process, with its descendants, during the counted
// time.
type Server struct {
	PID           int     `json:"pid"` // 0 if only its runtime was read, at GoURL
	Command       string  `json:"command"`
	CPUSeconds    float64 `json:"cpu_seconds"`
	CPUPerRequest int64   `json:"cpu_per_request_ns"`
	DelaySeconds  float64 `json:"delay_seconds"`                // like the generator's
	Allowed       float64 `json:"allowed"`                      // cores that it may use: its affinity, its cgroup's quota, GOMAXPROCS if known
	Cores         string  `json:"cores,omitempty"`              // which these are, such as "0-1,3"; empty if unknown
	Busy          float64 `json:"busy"`                         // CPU seconds / (seconds * Allowed)
	BusiestThread float64 `json:"busiest_thread"`               // share of the time that one thread ran, the busiest
	MemoryByte    int64   `json:"memory_byte"`                  // resident, at the most
	MemoryBefore  int64   `json:"memory_before_byte,omitempty"` // resident, before the first connection
	Threads       int     `json:"threads"`                      // at the most
	Processes     int     `json:"processes"`                    // with its descendants, at the most; the figures are sums
	Ended         bool    `json:"ended,omitempty"`              // it ended during the run

	// The rest is of Go programs, read from GoURL. Allocations and collections are those of
	// the counted time.
	GoURL               string  `json:"go_url,omitempty"`
	Goroutines          int     `json:"goroutines,omitempty"` // at the most
	HeapByte            int64   `json:"heap_byte,omitempty"`  // at the most
	AllocsPerRequest    float64 `json:"allocs_per_request,omitempty"`
	AllocatedPerRequest float64 `json:"allocated_byte_per_request,omitempty"`
	Collections         int64   `json:"collections,omitempty"`
}

// isWatched reports whether the figures of a process are known.
func (s *Server) isWatched() bool { return s != nil && s.PID != 0 }

// Target is what became of the requests to one URL.
type Target struct {
	URL      string       `json:"url"`
	Method   string       `json:"method"`
	Weight   int          `json:"weight"`
	Requests Requests     `json:"requests"`
	Latency  Distribution `json:"latency"`
}

// Step is a part of a run with a rate of its own.
type Step struct {
	AtNS     int64        `json:"at_ns"` // since the counted time began
	Seconds  float64      `json:"seconds"`
	Rate     float64      `json:"rate"` // intended, per second, on average
	Requests Requests     `json:"requests"`
	Latency  Distribution `json:"latency"`
	Late     Distribution `json:"late"`
}

// Interval is a slice of the run's time. It takes 100 ms in a run of less than 5 s, a second
// in longer ones, and more in a run of more than some minutes, so that there are a few
// hundred at most. Responses count where they ended. Those of an open loop that end after
// the counted time have intervals after it, without a rate.
type Interval struct {
	AtNS    int64            `json:"at_ns"` // since the counted time began; negative in the warm-up
	Seconds float64          `json:"seconds"`
	Good    int64            `json:"good"`
	Bad     int64            `json:"bad"`              // unexpected and failed
	Errors  map[string]int64 `json:"errors,omitempty"` // by kind
	// NotConnected counts attempts to connect that failed, and that aren't in Bad.
	NotConnected int64   `json:"not_connected,omitempty"`
	P50NS        int64   `json:"p50_ns"`
	P90NS        int64   `json:"p90_ns"`
	P99NS        int64   `json:"p99_ns"`
	MaxNS        int64   `json:"max_ns"`
	Histogram    string  `json:"histogram,omitempty"` // of the latencies, by Histogram.Coarse, for Compare
	Rate         float64 `json:"rate,omitempty"`      // intended, per second
	LateP99NS    int64   `json:"late_p99_ns,omitempty"`

	GeneratorCPU float64 `json:"generator_cpu"` // cores
	ServerCPU    float64 `json:"server_cpu"`    // cores, -1 if unknown
	Others       float64 `json:"others"`        // like Generator.Others
	ServerMemory int64   `json:"server_memory_byte,omitempty"`
	Goroutines   int     `json:"goroutines,omitempty"`
	HeapByte     int64   `json:"heap_byte,omitempty"`
}
