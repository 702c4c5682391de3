package english

import (
	"regexp"
	"testing"
)

// scope says in which texts a pattern is looked for.
type scope int

const (
	// everywhere: documents, help texts, scripts, and all comments, internal ones too.
	everywhere scope = iota
	// public: documents, help texts, examples, and the documentation of exported names.
	public
	// beginners: README.md, the first pages of docs/, the guides, and the examples.
	beginners
)

// pattern is a phrase that the texts must not have.
type pattern struct {
	rx    string // of package regexp; texts have their line breaks as spaces
	plain string // what to write
	scope scope
	// unless is matched against the whole sentence: where it matches, the phrase is right.
	unless string
	// headings are left out: as the title of a section the phrase is right.
	noHeading bool
	finds     string // a sentence that has the phrase
	spares    string // one that looks like it and is right

	compiled, except *regexp.Regexp // rx; unless or nil
}

// start matches the beginning of a sentence or of a clause after a colon.
const start = `(?:^|[.!?:] )`

// proxies are what a server can be "behind".
const proxies = `(?i)prox(?:y|ies)|nginx|haproxy|caddy|envoy|traefik|balancer|\bCDN\b|\bNAT\b|firewall|gateway|terminat|\b(?:left|leaves?|leaving|lags?|falls?|fell|stays?)\b[^.]{0,40}\bbehind\b|^behind\b`

var patterns = []pattern{
	// Words for people where code is meant.
	{rx: `\b(?:[Ss]omebody|[Nn]obody|[Ww]hoever|[Ww]homever)\b`, plain: "a goroutine, no goroutine, the caller; for people: anyone, no one", unless: `\bthe user nobody\b|\bHello, nobody\b`,
		finds: "Nobody reads the channel.", spares: "A body of http.NoBody is empty."},
	{rx: start + `Who\b[^?]*$`, plain: "the goroutine that, the caller that", noHeading: true,
		finds: "Who takes the lock closes it.", spares: "Who may call it?"},
	{rx: `\b(?:so that|by|from|with|without|unless|if|because|since|and|then) who\b`, plain: "the caller that, the goroutine that",
		unless: `\b(?:logs?|says?|tells?|shows?|reports?|knows?|describes?|records?|asks?)\b[^.]*\bwho\b`,
		finds:  "It is held by who writes.", spares: "The table says who owns it."},
	{rx: `(?i)\b(?:goroutines?|functions?|methods?|handlers?|sessions?|engines?|loops?|servers?|clients?|connections?|requests?|streams?|one|ones|it), who\b`, plain: "which, that",
		finds: "It belongs to the engine, who closes it.", spares: "It belongs to the caller, who must close it."},
	{rx: `(?i)\b(?:goroutines?|functions?|methods?|handlers?|sessions?|engines?|loops?|servers?|connections?|streams?|owner|waiter|one|ones) who\b`, plain: "that",
		finds: "The goroutine who waits is woken.", spares: "The goroutine that waits is woken."},
	{rx: `\b(?:[Hh]e|[Ss]he|[Hh]is|[Hh]im|[Hh]ers?|himself|herself)\b`, plain: "it, its (code); they, their (people)",
		finds: "The reader does that when he is done.", spares: "The reader does that when it is done."},

	// Order of words, and verbs.
	{rx: start + `What [^?.]{3,}\.(?: |$)`, plain: "begin with the subject", scope: public, noHeading: true, unless: `^What (?:is|are|does|do|happens) .*\?`,
		finds: "What a peer sends is limited.", spares: "What is limited? All that a peer sends."},
	{rx: `(?i)\bthere (?:is|are) (?:no|nothing|none)\b[^.;]{0,60}\bbut\b`, plain: "say what there is", scope: public,
		finds: "There is no way but the lock.", spares: "There is no lock. But the owner waits."},
	{rx: `\b(?:is|are|was|were|isn't|aren't) (?:not )?to (?:be|have|do|go|get|take|make|call|close|wait|send|read|write|run|end|begin|start|stop|say|cost|hold|keep|tell|come|use|see)\b`, plain: "must, will, should",
		unless: `(?i)\b(?:way|ways|purpose|aim|goal|point|idea|alternative|choice|rule|fix|reason|cost|turn|easiest|simplest|best|cheapest|task|job|trick|only thing|remedy|hard part|option|solution) [^.]{0,60}?\b(?:is|are|was|were) to\b|\b(?:than it is|turn it is|there (?:is|are)) to\b`,
		finds:  "The stream is to be closed.", spares: "The simplest way is to call Close."},
	{rx: `\b(?:has|have|had) (?:it|them|him|the \w+|a \w+|such \w+) (?:closed|fed|sent|served|run|called|killed|written|read|woken|told|checked|made|parsed|released|removed)\b`, plain: "make ... do, or name the function that does it", scope: public,
		finds: "Stop has it closed.", spares: "Stop closes it."},
	{rx: `\b(?:has|have|had) (?:a|the) (?:session|connection|stream|goroutine|handler|loop|\w+ session)s? (?:fed|closed|run|woken|called|killed)\b`, plain: "call, wake, close",
		finds: "It has the session fed.", spares: "It feeds the session."},
	{rx: start + `Other than (?:an?|the|in|on|with|of|for|by)\b`, plain: "Unlike",
		finds: "Other than a client, it listens.", spares: "Nothing other than a client calls it."},
	{rx: `\bmakes? of the (?:error|answer|response|result)\b`, plain: "turns X into Y",
		finds: "It makes of the error a status.", spares: "It makes the error a status."},
	{rx: `\btakes? the \w+ [^.;]{0,50}\baway\b`, plain: "removes", unless: `\baway from\b`,
		finds: "It takes the field with that name away.", spares: "It takes the connection over."},
	{rx: `\b(?:took|takes?|taking|taken) down\b`, plain: "records, notes", scope: everywhere,
		finds: "It takes down the bits.", spares: "It shuts the server down."},

	// Words that are used rarely, or for something else.
	{rx: `\bbut for\b`, plain: "except", unless: `\b(?:not|only|isn't|n't)\b[^.;]{0,80}\bbut for\b`,
		finds: "All are closed but for the last.", spares: "It is not for clients but for servers."},
	{rx: `\bkin\b|\b(?:and|or|of) (?:its|their) kind\b`, plain: "name them, or once \"and the similar functions\"",
		finds: "Get, Post and their kin.", spares: "A response of that kind."},
	{rx: `\b(?:of a kind|heads of a kind|more of a kind)\b`, plain: "similar",
		finds: "Heads of a kind are copied.", spares: "A kind of head."},
	{rx: `\bfor ever\b`, plain: "forever",
		finds: "It waits for ever.", spares: "It waits forever."},
	{rx: `\bof no effect\b`, plain: "has no effect",
		finds: "The flag is of no effect.", spares: "The flag has no effect."},
	{rx: `(?i)\bno concerns? of\b`, plain: "doesn't affect",
		finds: "Errors are no concern of it.", spares: "Errors don't concern it."},
	{rx: `\bbehind\b`, plain: "after (time, order), under, in", unless: proxies,
		finds: "The body comes behind the head.", spares: "It runs behind a proxy."},
	{rx: `\b(?:[Tt]he|[Aa]n?) own\b`, plain: "X's own, a Y of its own",
		finds: "The own tests of a project.", spares: "The project's own tests."},
	{rx: `\bneeds?,? the own\b|\ban own\b`, plain: "its own",
		finds: "It has an own pool.", spares: "It has its own pool."},
	{rx: `\bunder way\b`, plain: "running, in flight", scope: public, finds: "Requests under way end.", spares: "Running requests end."},
	{rx: `[.:] Else,? `, plain: "otherwise", finds: "It is read. Else it waits.", spares: "It is read, otherwise it waits."},
	{rx: `; else\b`, plain: "otherwise", scope: public, finds: "It is read if it fits; else the server answers 413.", spares: "It is read; otherwise the server answers 413."},
	{rx: `^Outlive the handler:`, plain: "Still valid after the handler returns:", finds: "Outlive the handler: copies.", spares: "These copies outlive the handler: a, b."},
	{rx: `\bif it (?:isn't|is not) above 0\b`, plain: "if it is 0 or negative", finds: "None if it isn't above 0.", spares: "None if it is 0."},
	{rx: `\blives? shortly\b`, plain: "short-lived", finds: "Connections that live shortly.", spares: "It returns shortly."},
	{rx: `\bgives? up halfway\b|\bhalfway\b`, plain: "say at which state", finds: "The parser gives up halfway.", spares: "The parser returns ErrPartial."},
	{rx: `\b(?:comes?|came|coming) by\b`, plain: "arrives over, uses", unless: `\bby (?:itself|themselves|then|now)\b`, finds: "The protocol that it came by.", spares: "It comes from a pool."},
	{rx: `\b(?:what|that) (?:it|a \w+|everything) (?:is|are|was) made (?:of|with|from)\b`, plain: "what it uses, what it consists of",
		finds: "The framework that it is made with.", spares: "It is made of two parts."},
	{rx: `\bhas a goroutine for each\b`, plain: "uses one goroutine per connection", finds: "Block has a goroutine for each.", spares: "Block uses one goroutine per connection."},
	{rx: `\bNot in fasthttp\.`, plain: "a row of docs/moving/differences.md", finds: "F sends it. Not in fasthttp.", spares: "It is not in fasthttp."},
	{rx: `\b(?:like|as in|than|of|and) the peer(?:'s (?:API|tests|defaults|names|source))|\bthe peer's (?:API|users|own tests)\b`, plain: "fasthttp",
		finds: "It is the peer's API.", spares: "It closes after the peer's FIN."},

	// Their relatives in texts for users.
	{rx: `, for (?:they|there|it (?:is|has|does|can|may|would|must|will|was)|we|otherwise|both \w+ (?:are|have)|to the compiler)\b`, plain: "a new sentence, or because", scope: public,
		finds: "Copy it, for it is used again.", spares: "It stands for it."},
	{rx: `\b[Tt]ells? of\b`, plain: "reports, says", scope: public, finds: "Err tells of the end.", spares: "Err tells the caller."},
	{rx: `(?i)\btime-outs?\b`, plain: "timeout", scope: public, finds: "After a time-out it closes.", spares: "After a timeout it closes."},
	{rx: `(?i)\bmend(?:s|ed|ing)?\b`, plain: "fix, correct", scope: public, finds: "A user can mend it.", spares: "A user can fix it."},
	{rx: `(?i)\banew\b`, plain: "again, from scratch", scope: public, finds: "It was written anew.", spares: "It is a new server."},
	{rx: `(?i)\b(?:behaves?|wants?|does|do) otherwise\b`, plain: "differently", scope: public, finds: "The RFC wants otherwise.", spares: "Otherwise it waits."},
	{rx: `\b[Ss]ome (?:two|three|four|five|six|seven|eight|nine|ten|\d+) `, plain: "about", scope: public, finds: "It takes some six minutes.", spares: "It takes some time."},
	{rx: `\bbeyond the (?:handler|request|call)\b`, plain: "after the handler returns", scope: public, finds: "Bytes kept beyond the handler.", spares: "Bytes beyond the limit."},
	{rx: `\bbears? the name\b|\bis at home\b|\bcalls? in vain\b`, plain: "is named, is declared, has no effect", scope: public, finds: "A type is at home there.", spares: "A type is declared there."},
	{rx: `\b(?:ends|end) as it (?:likes|pleases)\b|\bdo as they please\b`, plain: "say what happens", scope: public, finds: "Tests do as they please.", spares: "Tests may do anything."},
	{rx: `\bis (?:over|past)\b[^.]{0,20}\bwhen its time\b|\bits time is over\b`, plain: "after its timeout", scope: public, finds: "It closes when its time is over.", spares: "It closes after its timeout."},
	{rx: `\bso many\b[^.]{0,40};|\bexactly so many\b`, plain: "exactly that many", scope: public, finds: "It must bring exactly so many bytes.", spares: "It brings so many bytes that it fails."},

	// Words of the RFCs on the pages for beginners.
	{rx: `\b(?:[Rr]equest|[Rr]esponse|[Hh]eader|[Tt]railer|[Cc]onnection|[Cc]ookie|Host|[A-Z][a-z]+-[A-Z][A-Za-z-]+|[Cc]lient's|own|more|other|all|unknown|known|these|its) fields?\b`, plain: "header", scope: beginners,
		unless: `(?i)\b(?:form|JSON|struct|multipart|upload|log|setting|type|record|database|config)s?\b`,
		finds:  "The Host field is copied.", spares: "A form has two other fields."},
	{rx: `\b(?:request|response|a|the|its|each|whole|large) heads?\b`, plain: "request headers, response headers", scope: beginners,
		finds: "A request head is parsed.", spares: "HEAD and GET."},
	{rx: `\b(?:request targets?|target of (?:a|the) request)\b`, plain: "URL, path", scope: beginners,
		finds: "The request target is decoded.", spares: "The target of a redirect."},
}

// phrases are looked for everywhere as they stand, in lower and upper case.
var phrases = []struct{ text, plain string }{
	{"files at once", "serve a folder"},
	{"in its place that is made of", "with a module of type aliases"},
	{"for both modules are there", "because both modules live in it"},
	{"makes one of an empty folder", "create a module first"},
	{"here one beside that folder", "next to your module"},
	{"the rooms", "packages"},
	{"way of a request", "life of a request"},
	{"report a hole", "report a vulnerability"},
	{"by the line below", "name the section"},
	{"is at its top", "start with its first section"},
	{"tells what is sent again", "describes retries"},
	{"for those behind it", "later handlers"},
	{"of Done that it brings", "ctx.Done()"},
	{"how much of it, only", "only X limits its size"},
	{"matters of taste", "defaults"},
	{"to and fro", "both ways"},
	{"it answers GET and HEAD with files", "it serves files for GET and HEAD"},
	{"that isn't a regular file or a folder doesn't exist", "gets 404"},
	{"requests under way this long", "how long to wait for running requests"},
	{"here is HTTPS only", "this port speaks HTTPS"},
	{"begin the address with", "use https://"},
	{"waited for else", "otherwise it waits"},
	{"with regard to case", "case-sensitively"},
	{"there is no time if", "no timeout if"},
	{"what lasts of", "what persists"},
	{"is none for", "X can't handle it"},
	{"no beginning of a", "don't start a"},
	{"an error to stay", "a permanent error"},
	{"the way for the body", "the writer for the body"},
	{"it does for", "it is enough for"},
	{"goroutines are for the work", "with goroutines per request, not per connection"},
	{"heads of a kind", "similar response headers"},
	{"that there were, and", "polls done; polls that blocked"},
	{"who are you?", "unauthorized"},
	{"there is nothing here", "not found"},
}

// exception is a finding that is right where it stands.
type exception struct {
	file   string // from the top of the repository, with slashes
	text   string // a part of the sentence
	reason string
}

var exceptions = []exception{}

func init() {
	for _, p := range phrases {
		rx := `\b` + regexp.QuoteMeta(p.text)
		if last := p.text[len(p.text)-1]; last >= 'a' && last <= 'z' {
			rx += `\b`
		}
		patterns = append(patterns, pattern{rx: "(?i)" + rx, plain: p.plain, finds: "It says: " + p.text + " x.", spares: "It says what it does."})
	}
	for i := range patterns {
		p := &patterns[i]
		p.compiled = regexp.MustCompile(p.rx)
		if p.unless != "" {
			p.except = regexp.MustCompile(p.unless)
		}
	}
}

// Each pattern finds its example, and nothing where the words are right.
func TestPatterns(t *testing.T) {
	for _, p := range patterns {
		if !p.compiled.MatchString(p.finds) || p.isRight(p.finds) {
			t.Errorf("%s doesn't find %q", p.rx, p.finds)
		}
		if p.compiled.MatchString(p.spares) && !p.isRight(p.spares) {
			t.Errorf("%s finds %q, which is right", p.rx, p.spares)
		}
	}
}

// isRight reports whether the phrase is right in sentence.
func (p *pattern) isRight(sentence string) bool {
	return p.except != nil && p.except.MatchString(sentence)
}
