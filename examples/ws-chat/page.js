"use strict";

const $ = (id) => document.getElementById(id);
let socket = null; // the WebSocket, or null after "Leave"
let me = ""; // the name that the server has given
let pause = 500; // milliseconds until the next attempt to connect

$("name").value = localStorage.getItem("name") || "";
if (location.hash.length > 1) {
	try { $("room").value = decodeURIComponent(location.hash.slice(1)); } catch { /* not a room */ }
}

$("join").onsubmit = (event) => {
	event.preventDefault();
	const name = $("name").value.trim(), room = $("room").value.trim();
	if (!name || !room) return;
	localStorage.setItem("name", name);
	location.hash = encodeURIComponent(room);
	$("title").textContent = room;
	$("refused").hidden = true;
	connect(name, room);
};

function connect(name, room) {
	const url = new URL("/chat", location.href);
	url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
	url.hash = "";
	url.search = new URLSearchParams({ name, room });
	const mine = socket = new WebSocket(url);
	state("connecting", false);
	mine.onmessage = (event) => { if (mine === socket) receive(JSON.parse(event.data)); };
	mine.onclose = (event) => {
		if (mine !== socket) return;
		$("send").lastElementChild.disabled = true;
		if ($("chat").hidden) { // it was never open
			socket = null;
			$("refused").textContent = event.reason || "The server didn't let you in.";
			$("refused").hidden = false;
			return;
		}
		state("connection lost" + (event.reason ? ": " + event.reason : "") + ", trying again", true);
		setTimeout(() => { if (mine === socket) connect(name, room); }, pause);
		pause = Math.min(2 * pause, 15000);
	};
}

function receive(message) {
	switch (message.type) {
	case "welcome":
		pause = 500;
		me = message.name;
		$("door").hidden = true;
		$("chat").hidden = false;
		$("send").lastElementChild.disabled = false;
		state("you are " + me + ", over " + message.over, false);
		$("log").replaceChildren();
		for (const old of message.history || []) show(old);
		$("text").focus();
		break;
	case "text":
		show(message);
		break;
	default:
		note(message.name + (message.type === "joined" ? " has joined" : " has left"));
	}
	if (message.names) there(message.names);
}

function there(names) {
	const few = names.slice(0, 8).join(", ");
	$("there").textContent = names.length > 8 ? few + " and " + (names.length - 8) + " more" : few;
}

function state(text, bad) {
	$("state").textContent = text;
	$("state").classList.toggle("bad", bad);
}

function show(message) {
	const item = document.createElement("li"), name = document.createElement("b"), time = document.createElement("time"), text = document.createElement("p");
	item.className = message.name === me ? "own" : "";
	name.textContent = message.name;
	const date = new Date(message.time);
	time.dateTime = date.toISOString();
	time.textContent = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
	text.textContent = message.text;
	item.append(name, time, text);
	add(item);
}

function note(text) {
	const item = document.createElement("li");
	item.className = "note";
	item.textContent = text;
	add(item);
}

// add shows an item, and scrolls to it unless the user has scrolled up.
function add(item) {
	const log = $("log"), below = log.scrollHeight - log.scrollTop - log.clientHeight;
	log.append(item);
	while (log.children.length > 500) log.firstElementChild.remove();
	if (below < 40) log.scrollTop = log.scrollHeight;
}

$("send").onsubmit = (event) => {
	event.preventDefault();
	const text = $("text").value.trim();
	if (!text || !socket || socket.readyState !== WebSocket.OPEN) return;
	socket.send(text);
	$("text").value = "";
};

$("leave").onclick = () => {
	const mine = socket;
	socket = null;
	if (mine) mine.close(1000);
	$("chat").hidden = true;
	$("door").hidden = false;
	$("name").focus();
};
