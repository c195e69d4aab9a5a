package record

// MinMaxMessage is the smallest limit of a message: its head, id and method are within.
const MinMaxMessage = 1 << 10
