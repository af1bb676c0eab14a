"""StreamBench: a search log and packet statistics, and the seven programs (and a sink) that process them."""

SEARCHLOG_SEPARATOR = "\t"
PACKET_SEPARATOR = " "
