/** Names of devices, which Windows opens in every folder and with every ending. */
export const RESERVED_ON_WINDOWS: RegExp = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|$)/i;
