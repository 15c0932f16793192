/** TURN servers with their credentials, as WebRTC's RTCIceServer. */
export interface IceServer {
  readonly urls: string[];
  readonly username: string;
  readonly credential: string;
}
