const inlined = document.getElementById('document').textContent;
document.getElementById('content').textContent = inlined ? JSON.parse(inlined).status : 'waiting';
