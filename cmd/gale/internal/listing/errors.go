package listing

import (
	"bytes"
	"strconv"

	"github.com/galehttp/gale"
	"github.com/galehttp/gale/internal/head"
)

// ErrorPage answers with an error. message is a sentence that says what is wrong and, if
// possible, what to do. Browsers get a page, clients that prefer JSON {"error":"message"},
// and others, such as curl, the message as a line of text. Fields of the response that were
// set before stay, except Content-Type, Cache-Control and those of the page.
func ErrorPage(ctx *gale.RequestCtx, status int, message string) {
	ctx.Response.ResetBody()
	ctx.SetStatusCode(status)
	ctx.Response.Header.Set(gale.HeaderCacheControl, "no-store")
	addVary(ctx, "Accept")
	accept := ctx.Request.Header.PeekAll(gale.HeaderAccept)
	html, text := head.AcceptWeight(accept, "text/html"), head.AcceptWeight(accept, "text/plain")
	switch data := head.AcceptWeight(accept, "application/json"); {
	case data > max(html, text):
		ctx.Response.Header.Del(gale.HeaderContentSecurityPolicy)
		ctx.SetContentType(jsonType)
		b := appendJSONString([]byte(`{"error":`), message)
		ctx.SetBody(append(b, "}\n"...))
	case html > text:
		ctx.SetContentType(htmlType)
		setPolicy(ctx, policy().plain)
		ctx.SetBody(appendError(nil, status, message, bytes.Count(ctx.Path(), []byte{'/'})-1))
	default:
		ctx.Response.Header.Del(gale.HeaderContentSecurityPolicy)
		ctx.SetContentType(textType)
		ctx.SetBodyString(message + "\n")
	}
}

// appendError appends the page for an error. depth is how many folders are above the page.
func appendError(dst []byte, status int, message string, depth int) []byte {
	title := strconv.Itoa(status) + " " + gale.StatusMessage(status)
	dst = appendHead(dst, title)
	dst = append(dst, "<body class=\"error\">\n<main>\n<p class=\"code\">"...)
	dst = strconv.AppendInt(dst, int64(status), 10)
	dst = append(dst, "</p>\n<h1>"...)
	dst = appendHTML(dst, gale.StatusMessage(status))
	dst = append(dst, "</h1>\n<p>"...)
	dst = appendHTML(dst, message)
	dst = append(dst, "</p>\n<p><a class=\"button\" href=\"./"...)
	for range depth {
		dst = append(dst, "../"...)
	}
	return append(dst, "\">Go to the start page</a></p>\n</main>\n</body>\n</html>\n"...)
}
